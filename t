|Shape|old|new|
|-|-|-|
|x|1|2|
