package main

import "github.com/polystore/polystore/repo/tree"

// The names of candidates of trees. The floor keeps what Adjacency does.
const (
	pathFloorName     = "path floor"
	tunedPathName     = "tuned path floor"
	arrayFloorName    = "array floor"
	oursAdjacencyName = "adjacency"
	oursPathName      = "path"
	oursAncestorsName = "ancestors"
)

var treesOnPebble = []candidate{
	{name: floorName, tree: treeFloorOf(false, false)},
	{name: floorAgainName, tree: treeFloorOf(false, false)},
	{name: pathFloorName, tree: treeFloorOf(true, false)},
	{name: tunedName, tree: treeFloorOf(false, true)},
	{name: tunedPathName, tree: treeFloorOf(true, true)},
	{name: oursAdjacencyName, tree: treeOn(tree.Adjacency)},
	{name: oursPathName, tree: treeOn(tree.Path)},
}

var treesOnRedis = []candidate{
	{name: floorName, tree: redisTreeFloorOf(false)},
	{name: floorAgainName, tree: redisTreeFloorOf(false)},
	{name: pathFloorName, tree: redisTreeFloorOf(true)},
	{name: oursAdjacencyName, tree: redisTreeOn(tree.Adjacency)},
	{name: oursPathName, tree: redisTreeOn(tree.Path)},
}

var treesOnMongo = []candidate{
	{name: floorName, tree: mongoTreeFloorOf(false), reads: true},
	{name: floorAgainName, tree: mongoTreeFloorOf(false), reads: true},
	{name: arrayFloorName, tree: mongoTreeFloorOf(true), reads: true},
	{name: oursAdjacencyName, tree: mongoTreeOn(tree.Adjacency), reads: true},
	{name: oursPathName, tree: mongoTreeOn(tree.Path), reads: true},
	{name: oursAncestorsName, tree: mongoTreeOn(tree.Ancestors), reads: true},
}

// treeBounds are for the strategy that one takes for an operation: Path for ancestors and subtrees, and Adjacency for
// what is not cheaper with Path. The others are only told.
func treeBounds(store string) []bound {
	if store == mongoName {
		return mongoTreeBounds()
	}
	var list []bound
	for _, op := range treeOperations {
		adjacency := bound{Op: op, Name: oursAdjacencyName, Against: floorName, OnlyCPU: true}
		path := bound{Op: op, Name: oursPathName, Against: pathFloorName, OnlyCPU: true}
		if op == opAncestors || op == opSubtree {
			path.Most = 1.15
		} else {
			adjacency.Most = 1.15
		}
		list = append(list, adjacency, path)
		if store == "" {
			list = append(list, bound{Op: op, Name: oursAdjacencyName, Against: tunedName}, bound{Op: op, Name: oursPathName, Against: tunedPathName})
		}
	}
	return list
}

// mongoTreeBounds are for Path, beside $graphLookup and beside an array of ancestors.
func mongoTreeBounds() []bound {
	var list []bound
	for _, op := range treeWork(mongoName).operations {
		for _, against := range []string{floorName, arrayFloorName} {
			for _, name := range []string{oursPathName, oursAncestorsName, oursAdjacencyName} {
				b := bound{Op: op, Name: name, Against: against, OnlyP50: true}
				if name == oursPathName {
					b.Most = 1.10
				}
				list = append(list, b)
			}
		}
	}
	return list
}
