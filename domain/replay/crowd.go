package replay

import (
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"gpupool/domain/pool"
)

// Crowd is a kind of work that comes again and again: on average every
// EveryHours hours between FromHour and ToHour of these weekdays (1 is Monday).
type Crowd struct {
	Org         string    `json:"organisation"`
	User        string    `json:"user"`
	Project     string    `json:"project"`
	Name        string    `json:"name"` // {n} counts
	Class       string    `json:"class"`
	Tier        pool.Tier `json:"tier"`
	Nodes       int       `json:"nodes"`
	GPUs        int       `json:"gpus"`
	EveryHours  int       `json:"every_hours"`
	FromHour    int       `json:"from_hour"`
	ToHour      int       `json:"to_hour"`
	Weekdays    []int     `json:"weekdays"`
	Minutes     [2]int    `json:"minutes"` // shortest and longest run
	LimitFactor int       `json:"limit_factor"`
	FailPercent int       `json:"fail_percent"`
	QuietHours  int       `json:"quiet_hours,omitempty"` // before the end, when nothing new comes
}

// Columns of the trace format that WriteCrowd writes and Read reads.
var Columns = []string{"organisation", "user", "project", "name", "class", "tier", "nodes", "gpus_per_node", "submit_s", "length_s", "limit_s", "exit"}

// WriteCrowd draws a trace of crowds between two instants and writes it as
// CSV in our own format. The same seed draws the same trace.
func WriteCrowd(w io.Writer, crowds []Crowd, start, until pool.Instant, zone *time.Location, seed uint64) error {
	c := csv.NewWriter(w)
	if err := c.Write(Columns); err != nil {
		return err
	}
	for k, x := range crowds {
		r := rand.New(rand.NewPCG(seed, uint64(k)))
		until := until.Add(-time.Duration(x.QuietHours) * time.Hour)
		n := 0
		for at := start; at < until; {
			// Uniform between nothing and twice the mean: integers only.
			at = at.Add(time.Duration(1+r.IntN(2*x.EveryHours*3600)) * time.Second)
			local := at.In(zone)
			day := (int(local.Weekday())+6)%7 + 1
			if at >= until || local.Hour() < x.FromHour || local.Hour() >= x.ToHour || !slices.Contains(x.Weekdays, day) {
				continue
			}
			n++
			length := 60 * (x.Minutes[0] + r.IntN(x.Minutes[1]-x.Minutes[0]))
			exit := ""
			if r.IntN(100) < x.FailPercent {
				exit, length = "1", max(60, length/(2+r.IntN(8)))
			}
			name := strings.ReplaceAll(x.Name, "{n}", fmt.Sprintf("%03d", n))
			row := []string{x.Org, x.User, x.Project, name, x.Class, string(x.Tier), strconv.Itoa(x.Nodes), strconv.Itoa(x.GPUs),
				strconv.FormatInt(int64(at-start)/1000, 10), strconv.Itoa(length), strconv.Itoa(60 * x.Minutes[1] * max(1, x.LimitFactor)), exit}
			if err := c.Write(row); err != nil {
				return err
			}
		}
	}
	c.Flush()
	return c.Error()
}
