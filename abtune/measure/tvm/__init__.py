"""The only room that imports TVM: targets, searches, building and timing."""
