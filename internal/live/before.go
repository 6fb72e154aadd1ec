package live

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/polystore/polystore/repo"
)

// A lapsing is a person that lasts until a time.
type lapsing struct {
	Home  string    `repo:"home"`
	ID    string    `repo:"id"`
	Kind  string    `repo:"kind"`
	N     int64     `repo:"n"`
	Until time.Time `repo:",expires"`
}

func setLapsing(l *lapsing, to person) {
	*l = lapsing{to.Home, to.ID, to.Kind, to.N, time.Now().Add(time.Second)}
}

// besideExpired adds the index beside records that have expired. Others get their values then, and they are written over,
// removed, and looked after.
func besideExpired(s *scene) {
	if !s.begin(nil) {
		return
	}
	p, _, err := openOf(s.ctx, s.base, nil, setLapsing, nil)
	if !s.must("open the program whose records expire", err) {
		return
	}
	s.programs["lapsing"] = p
	var gone []person
	for _, id := range []string{"put", "deleted", "kept up", "again"} {
		gone = append(gone, s.person(id, "a"))
		s.must("make a record that expires", p.door.do(s.ctx, insert, gone[len(gone)-1:]))
	}
	time.Sleep(2 * time.Second)
	r := s.build("the builder", nil, repo.WithBuild())
	if r == nil || !s.must("build the index", r.Ready(s.ctx, s.index.Name)) {
		return
	}
	older, taken := s.programs["older"].door, slices.Clone(gone[:3])
	for i := range taken {
		taken[i].ID = fmt.Sprint("new.", i)
		s.must("give a value away", older.do(s.ctx, insert, taken[i:i+1]))
	}
	s.must("put", older.do(s.ctx, put, []person{s.person("put", "b")}))
	s.must("delete", s.programs["the builder"].door.do(s.ctx, remove, gone[1:2]))
	s.must("insert again", older.do(s.ctx, insert, gone[3:]))
	s.verify(r, "before an upkeep") // which mends what is young
	_, err = r.Maintain(s.ctx)
	s.must("maintain", err)
	for _, p := range append(taken, gone[3]) {
		p.ID = "second"
		if err := older.do(s.ctx, insert, []person{p}); s.index.Unique && !errors.Is(err, repo.ErrExists) {
			s.fault("missing row: a second record of a unique value: %v", err)
		}
		s.must("remove", older.do(s.ctx, remove, []person{p}))
	}
	s.verify(r, "in the end")
}

// anotherOfTheName drops the index, and adds another one under its name, while a program runs that declares the former.
func anotherOfTheName(s *scene) {
	if !s.begin(people(5)) {
		return
	}
	r := s.build("the builder", nil, repo.WithBuild())
	if r == nil || !s.must("build the index", r.Ready(s.ctx, s.index.Name)) || !s.must("drop the index", <-s.drop("who drops", nil)) {
		return
	}
	s.index.Covers = []string{"*"}
	if r = s.build("the next builder", nil, repo.WithBuild()); r == nil || !s.must("build the next index", r.Ready(s.ctx, s.index.Name)) {
		return
	}
	for _, v := range []verb{update, put} {
		if err := s.programs["the builder"].door.do(s.ctx, v, []person{s.person("p0", "b")}); err != nil && !errors.Is(err, repo.ErrSchema) {
			s.fault("%s by the program of before: %v", v, err)
		}
	}
	s.verify(r, "in the end")
}
