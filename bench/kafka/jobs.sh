# What run, latency and recovery share: a broker, the jobs by name, medians. Sourced by them; they set root and brokers.
build=${SLUICE_BINARY_DIR:-$root/build/release}
data=$(mktemp -d)
given=${brokers:-}

cleanup() {
  [[ -n $given ]] || "$root/tools/kafka" stop --now --wipe --data "$data/kafka" >/dev/null 2>&1 || true
  rm -rf "$data"
}
trap cleanup EXIT

start_broker() {
  # Room for young objects: by default their collection stops the broker for 25 to 110 ms every two seconds (-Xlog:gc), which is all
  # that a p99 shows then.
  [[ -n $brokers ]] || brokers=$("$root/tools/kafka" start --port 0 --data "$data/kafka" --heap 3g --young 2400m | tail -n 1)
}

topics() { # PARTITIONS NAME…
  "$root/tools/kafka" topic create "${@:2}" --partitions "$1" --bootstrap "$brokers" >/dev/null
}

pipeline_file() { # pass|json IN OUT ID INTERVAL_MS RECORDS
  local last=events stop=never
  (($6 == 0)) || stop=latest
  echo "version: 1
name: $4
guarantee: exactly_once
checkpoint: {interval: ${5}ms, directory: $data/state/$4}
connections: {main: {brokers: \"$brokers\"}}
sources:
  events: {kafka: {connection: main, topics: [$2], group: $4, start: earliest, stop: $stop}}"
  if [[ $1 == json ]]; then
    last=rewrite
    cat <<'END'
operators:
  rewrite:
    input: events
    json_replace:
      path: /identityUri
      rules:
        - {pattern: '/\d+$', with: '/{}'}
        - {pattern: '/[0-9a-f]{8}-[0-9a-f-]{27}$', with: '/{uuid}'}
END
  fi
  echo "sinks:
  out: {input: $last, kafka: {connection: main, topic: $3, key: keep, partition: keep}}"
}

# Sets `command` to what runs one job from one topic to another, exactly once. RECORDS 0: until SIGTERM.
job_command() { # KIND pass|json IN OUT ID INTERVAL_MS RECORDS
  local kind=$1 job=$2 in=$3 out=$4 id=$5 interval=$6 records=$7
  local common=(--brokers "$brokers" --in "$in" --out "$out")
  case $kind in
    bare | unchanged)  # The second one leaves JSON as it is, for the judge's own test.
      command=("$build/bench/bare_loop" "${common[@]}" --group "$id" --id "$id" --commit-ms "$interval")
      [[ $job == pass || $kind == unchanged ]] || command+=(--rewrite)
      if ((records)); then command+=(--max-records "$records"); else command+=(--until-idle 20000); fi ;;
    sluice | numbered)
      command=("$build/bin/numbered_copy")
      [[ $job == pass ]] || command=("$build/bench/rewrite_copy")
      command+=("${common[@]}" --name "$id" --interval-ms "$interval" --directory "$data/state/$id")
      [[ $job != pass ]] || command+=(--group "$id")
      [[ $job != pass || $kind == numbered ]] || command+=(--no-number)
      ((records == 0)) || command+=(--bounded) ;;
    yaml)  # The same as sluice's, from a pipeline file.
      pipeline_file "$job" "$in" "$out" "$id" "$interval" "$records" >"$data/$id.yaml"
      command=("$build/bin/sluice" run "$data/$id.yaml" --no-progress) ;;
    flink | kafka-streams | kafka-streams-tuned)
      command=("$root/bench/peers/run" "${kind%-tuned}" "${common[@]}" --name "$id" --job "$job" --interval-ms "$interval"
        --records "$records" --directory "$data/state" --parallelism "${parallelism:-1}")
      # What its users set who want it back quickly: the new process takes the killed one's place in the group at once, and what that
      # one left open is aborted after seconds.
      [[ $kind != *-tuned ]] || command+=(-X "main.consumer.group.instance.id=$id" -X producer.transaction.timeout.ms=2000) ;;
    *) echo "bench/kafka: no job \"$kind\"; there are bare, sluice, numbered, yaml, flink, kafka-streams, kafka-streams-tuned" >&2; exit 2 ;;
  esac
}

median() { sort -n | awk '{v[NR]=$1} END {print v[int((NR+1)/2)]}'; }
column() { cut -d' ' -f"$2" "$data/$1" | median; } # KIND COLUMN
