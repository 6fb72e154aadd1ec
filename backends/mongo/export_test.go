package mongo

// URLOptions are those of a URL that are no options of the client.
var URLOptions = (&target{}).options()
