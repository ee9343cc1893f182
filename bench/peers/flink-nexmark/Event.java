/**
 * A person, an auction or a bid. The source makes one object and writes every event of its kind into the same part of it: with object
 * reuse nobody keeps it, so whatever goes to another task or into state is copied out of it first.
 */
final class Event {
  static final int PERSON = 0, AUCTION = 1, BID = 2;

  int kind;
  final Person person = new Person();
  final Auction auction = new Auction();
  final Bid bid = new Bid();

  static final class Person {
    long id, time;
    String name, email, creditCard, city, state, extra;
  }

  static final class Auction {
    long id, initialBid, reserve, time, expires, seller, category;
    String itemName, description, extra;
  }

  static final class Bid {
    long auction, bidder, price, time;
    /** Which event it is: of two bids at one millisecond it tells the earlier, whatever reached an operator first. */
    long number;
    String channel, url, extra;
  }
}
