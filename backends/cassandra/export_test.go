package cassandra

// Tune is what Open makes of the configuration of a client.
var Tune = tune
