// Package repotest makes a store behave as stores do on bad days, for the tests
// of services: slow, refusing, out of reach, losing answers.
//
// [New] wraps any backend, mostly backends/memory, and [Rule]s say which calls go
// wrong and how. Package repo on top of it sees what it would see of a real store,
// so that a test can ask what its service does then:
//
//	store, err := repotest.New(memory.New(nil), &repotest.Options{
//		Rules: []repotest.Rule{{On: repotest.Commit, Every: 3, Fault: repotest.Conflict}},
//	})
//	…
//	posts, err := repo.Open[Post](ctx, repo.NewStore(store, nil), schema)
package repotest
