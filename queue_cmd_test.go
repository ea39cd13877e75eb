package main

import "testing"

func TestTheOperatorAsksTheQueue(t *testing.T) {
	t.Parallel()
	s := openShell(t)
	out, errs, code := s.run(s.Member, "job", "run", "--class", string(s.Class), "--gpus", "8", "--max-run", "1h", "busybox")
	s.wants(0, nil, out, errs, code)
	out, errs, code = s.run(s.Member, "job", "run", "--class", string(s.Class), "--gpus", "4", "--max-run", "1h", "busybox")
	s.wants(0, nil, out, errs, code)
	s.must(s.Service.Cycle(t.Context(), true))
	out, errs, code = s.run(s.Operator, "queue")
	s.wants(0, []string{"1 wait", "A100 80 GB", "1. j-", "1 x 8 GPUs of a100-80g, flexible", "waits: "}, out, errs, code)
	out, errs, code = s.run(s.Operator, "queue", "--json")
	s.wants(0, []string{`"waiting_total":1`}, out, errs, code)
	out, errs, code = s.run(s.Operator, "queue", "whatif", "add", "--class", string(s.Class), "--nodes", "1", "--gpus", "8")
	s.wants(0, []string{"waits -> starts"}, out, errs, code)
	out, errs, code = s.run(s.Operator, "queue", "whatif", "grant", "--member", string(s.Org), "--class", string(s.Class), "--gpus", "zwei")
	s.wants(exitUsage, []string{"--gpus: "}, out, errs, code)
	out, errs, code = s.run(s.Member, "queue")
	s.wants(exitNotFound, nil, out, errs, code)
}
