package report

// leastOften is in which part of the rounds, more than one, an objective is missed often: one in six.
const leastOften = 6

// often reports whether the objective was missed in so many rounds that no single stall explains it, the clock aside.
func (o *ObjectiveResult) often() bool { return o.Missed-o.Late > max(1, o.Rounds/leastOften) }

// always reports whether the objective was met in each round, but where the clock may be the cause.
func (o *ObjectiveResult) always() bool { return o.Met && o.Missed == o.Late }

// steadierThan reports whether the candidate met always what another one missed often, and nothing the other way round.
// Both do what is asked by the median of their rounds.
func (c *candidate) steadierThan(o *candidate) bool {
	if !c.meets() || !o.meets() {
		return false
	}
	steadier := false
	theirs := o.objectives()
	for i, own := range c.objectives() {
		if own.often() && theirs[i].always() {
			return false
		}
		steadier = steadier || own.always() && theirs[i].often()
	}
	return steadier
}

// oftenMissed describes the objectives that the candidate missed often.
func (c *candidate) oftenMissed() (list []string) {
	for _, o := range c.objectives() {
		if o.often() {
			list = append(list, o.String())
		}
	}
	return list
}
