#pragma once
// Everything a program that uses sluice needs; each header may also be included by itself.
