package quota

import (
	"slices"
	"time"

	"gpupool/domain/pool"
)

// Told is a likely start that was told, and what came of it.
type Told struct {
	At     pool.Instant
	Played Likely       // what the plays said, before it was widened by what had come true until then
	Start  pool.Instant // when the job started; while it hasn't, until when it is known not to have
	Open   bool         // it hasn't started: it waits, or was cancelled
}

// Record is how told starts came true: the waits in thousandths of what the
// plays had said. Nothing about it is set by hand: the interval that is told
// begins where one of ten came sooner and ends where one of ten came later.
type Record struct {
	N                   int   // tellings that it is made of
	Early, Middle, Late int64 // in thousandths
}

const (
	// fewTold is from how many starts on a pool knows its own. Before that its
	// interval is half as near and half as far again as the plays say.
	fewTold = 20
	// blur is added to both waits before they are compared: nobody minds minutes.
	blur = 5 * time.Minute
	// mostRatio is beyond what anybody plans with.
	mostRatio = 100_000
)

// LastTold are so many tellings as a record is made of: the newest.
const LastTold = 200

// Own tells whether the record is the pool's own, not what holds for all at first.
func (r Record) Own() bool { return r.N >= fewTold }

// judge learns from what was told.
func judge(all []Told) Record {
	var early, middle, late []ratio
	n := 0
	for _, t := range all {
		if !t.Played.Known() || t.Start < t.At {
			continue
		}
		if !t.Open {
			n++
		}
		came := t.Start.Sub(t.At)
		early = append(early, ratioOf(came, t.Played.Early.Sub(t.At), t.Open))
		middle = append(middle, ratioOf(came, t.Played.Middle.Sub(t.At), t.Open))
		late = append(late, ratioOf(came, t.Played.Late.Sub(t.At), t.Open))
	}
	if n < fewTold {
		return Record{n, 500, 1000, 1500}
	}
	return Record{n, quantileOf(early, 100), quantileOf(middle, 500), quantileOf(late, 900)}
}

// ratio is a wait in thousandths of a told one; open: it is at least that.
type ratio struct {
	x    int64
	open bool
}

func ratioOf(came, told time.Duration, open bool) ratio {
	return ratio{min((came+blur).Milliseconds()*1000/(max(0, told)+blur).Milliseconds(), mostRatio), open}
}

// quantileOf is the ratio below which so many thousandths lie, after Kaplan and
// Meier, with one more that is beyond all others: the next one.
func quantileOf(all []ratio, p int64) int64 {
	slices.SortFunc(all, func(x, y ratio) int {
		if x.x != y.x {
			return compare(x.x, y.x)
		}
		if x.open != y.open { // what hasn't come is later
			if x.open {
				return 1
			}
			return -1
		}
		return 0
	})
	left, last := int64(certain), int64(1000)
	for i, r := range all {
		if last = r.x; r.open {
			continue
		}
		risk := int64(len(all) - i + 1)
		if left = left * (risk - 1) / risk; certain-left >= certain/1000*p {
			break
		}
	}
	return last
}

// widened is the interval that is told for what the plays say.
func (r Record) widened(l Likely, now pool.Instant) Likely {
	if !l.Known() {
		return l
	}
	scale := func(t pool.Instant, by int64) pool.Instant {
		told := max(0, t.Sub(now)) + blur
		return now.Add(max(0, told/1000*time.Duration(by)-blur))
	}
	m := scale(l.Middle, r.Middle)
	return Likely{min(scale(l.Early, r.Early), m), m, max(scale(l.Late, r.Late), m)}
}
