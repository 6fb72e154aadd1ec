package repo

const (
	doInsert verb = iota
	doReplace
	doPut
	doUpdate
	doPatch
	doDelete
)
