package web

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/store/storetest"
)

func keyed(key string) http.Header { return http.Header{"Idempotency-Key": {key}} }

func (b *apiBench) jobs() int {
	b.t.Helper()
	rows, _, err := b.Service.Jobs(b.ctx, b.pool.Owner, domain.JobFilter{Org: b.pool.Org})
	b.must(err)
	return len(rows)
}

func TestTheSameKeyIsDoneOnceAndAnsweredTheSame(t *testing.T) {
	t.Parallel()
	b := openAPIBench(t)
	b.engine()
	token := b.token(b.pool.Member)
	first := b.send("POST", jobsPath, token, b.job(nil), keyed("k1")).want(201)
	b.cycle() // the job goes on; the answer of then stays
	again := b.send("POST", jobsPath, b.token(b.pool.Member), b.job(nil), keyed("k1")).want(201)
	if again.body != first.body || again.header.Get("Location") != first.header.Get("Location") || again.header.Get(replayed) != "true" || first.header.Get(replayed) != "" {
		t.Errorf("first %s\nagain %s", first.body, again.body)
	}
	if at := b.send("POST", jobsPath, token, b.job(object{"name": "other"}), keyed("k1")).refused(422, "idempotency_key_reused"); at["Idempotency-Key"] == "" {
		t.Errorf("at: %v", at)
	}
	b.send("POST", first.header.Get("Location")+"/stop", token, nil, keyed("k1")).refused(422, "idempotency_key_reused")
	// A key is of its person: another one's same key is another key.
	b.send("POST", jobsPath, b.token(b.pool.Lead), b.job(object{"gpus_per_node": 1}), keyed("k1")).want(201)
	if n := b.jobs(); n != 2 {
		t.Errorf("%d jobs, want 2", n)
	}
	for _, key := range []string{strings.Repeat("k", 256), "schlüssel", "\t"} {
		if at := b.send("POST", jobsPath, token, b.job(nil), keyed(key)); at.status == 201 && key != "\t" {
			t.Errorf("the key %.20q was taken", key)
		}
	}
}

func TestARefusedRequestLeavesItsKeyFree(t *testing.T) {
	t.Parallel()
	b := openAPIBench(t)
	b.engine()
	token := b.token(b.pool.Member)
	b.send("POST", jobsPath, token, b.job(object{"nodes": 0}), keyed("k")).refused(422, "invalid")
	b.send("POST", jobsPath, token, b.job(nil), keyed("k")).want(201)
	b.send("POST", jobsPath, token, b.job(object{"nodes": 0}), keyed("k")).refused(422, "idempotency_key_reused")
}

func TestManyAtOnceWithOneKeyMakeOneJob(t *testing.T) {
	t.Parallel()
	b := openAPIBench(t)
	token := b.token(b.pool.Member)
	var wg sync.WaitGroup
	replies := make([]reply, 8)
	for i := range replies {
		wg.Go(func() { replies[i] = b.send("POST", jobsPath, token, b.job(nil), keyed("race")) })
	}
	b.engine()
	wg.Wait()
	made, places := 0, map[string]bool{}
	for _, r := range replies {
		switch r.status {
		case 201:
			places[r.header.Get("Location")] = true
			if r.header.Get(replayed) == "" {
				made++
			}
		case 409:
			r.refused(409, "idempotency_in_flight")
			if r.header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
		default:
			t.Errorf("%d: %s", r.status, r.body)
		}
	}
	if made != 1 || len(places) != 1 || b.jobs() != 1 {
		t.Errorf("%d made, at %v, %d jobs", made, places, b.jobs())
	}
	b.send("POST", jobsPath, token, b.job(nil), keyed("race")).want(201)
}

func TestARequestThatBrokeOffIsNotDoneAgain(t *testing.T) {
	t.Parallel()
	b := openAPIBench(t)
	token := b.token(b.pool.Member)
	// As a portal that was killed between the claim and the answer leaves it.
	body := `{"name":"lost"}`
	left, err := inJSON(keptAnswer{Request: hashOf("POST", jobsPath, body), At: b.pool.Clock.Now()})
	b.must(err)
	b.pool.Update(func(tx domain.Tx) error {
		_, _, err := tx.UseNonce(domain.Nonce{Nonce: "api:" + hashOf(string(b.pool.Member.User), "k"), User: b.pool.Member.User, At: tx.Wall(), Result: string(left)})
		return err
	})
	b.send("POST", jobsPath, token, body, keyed("k")).refused(409, "idempotency_in_flight")
	b.pool.Clock.Add(brokenOff)
	b.send("POST", jobsPath, token, body, keyed("k")).refused(409, "idempotency_unknown")
	if n := b.jobs(); n != 0 {
		t.Errorf("%d jobs", n)
	}
}

func TestAFollowedLogArrivesAsItIsWritten(t *testing.T) {
	t.Parallel()
	b := openAPIBench(t)
	b.engine()
	token := b.token(b.pool.Member)
	place := b.post(jobsPath, token, b.job(nil)).want(201).header.Get("Location")
	b.cycle()
	b.get(place+"/log?stream=tape", token).refused(422, "invalid")
	b.get(place+"/log?offset=-1", token).refused(422, "invalid")
	b.get(place+"/log?follow=maybe", token).refused(422, "invalid")
	b.get(place+"/log?follow=true", b.token(b.pool.OtherOwner)).refused(404, "not_found")
	if r := b.get(place+"/log?limit=1&offset=999", token).want(200); r.body != "" || r.header.Get(nextOffset) != "999" {
		t.Errorf("beyond the end: %q, next %s", r.body, r.header.Get(nextOffset))
	}
	waiting, err := b.Service.SubmitJob(b.ctx, b.pool.Member, b.pool.Org, domain.JobInput{Project: b.pool.Project.ID, Name: "later", Classes: []pool.ClassID{b.pool.Class}, Nodes: 1,
		GPUsPerNode: 1, Tier: pool.Spot, NotBefore: b.pool.Clock.Now().Add(1e12), Spec: domain.JobSpec{Image: "busybox"}})
	b.must(err)
	if r := b.get(jobsPath+"/"+string(waiting.ID)+"/log?follow=true", token).want(200); r.body != "" {
		t.Errorf("a job that waits has a log: %q", r.body)
	}
}

func TestWhoHangsUpGetsTheAnswerLater(t *testing.T) {
	t.Parallel()
	b := openAPIBench(t)
	token := b.token(b.pool.Member)
	body, err := json.Marshal(b.job(nil))
	b.must(err)
	ctx, hangUp := context.WithCancel(b.ctx)
	r, err := http.NewRequestWithContext(ctx, "POST", b.http.URL+jobsPath, bytes.NewReader(body))
	b.must(err)
	r.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "Idempotency-Key": {"k"}}
	gone := make(chan error)
	go func() {
		res, err := http.DefaultClient.Do(r)
		if err == nil {
			err = res.Body.Close()
		}
		gone <- err
	}()
	for b.jobs() == 0 { // no engine looks at it: the answer takes its two seconds
		runtime.Gosched()
	}
	hangUp()
	if err := <-gone; err == nil {
		t.Fatal("the answer was there before the caller hung up")
	}
	var again reply
	for again = b.send("POST", jobsPath, token, string(body), keyed("k")); again.status == 409; again = b.send("POST", jobsPath, token, string(body), keyed("k")) {
		again.refused(409, "idempotency_in_flight")
		b.pool.Clock.Add(time.Second / 10) // for the rate limit
		if b.pool.Clock.Now() > storetest.Start.Add(brokenOff-time.Second) {
			t.Fatal("the answer never came")
		}
		time.Sleep(20 * time.Millisecond)
	}
	if again.want(201); b.jobs() != 1 || again.header.Get(replayed) != "true" {
		t.Errorf("%d jobs, %v", b.jobs(), again.header)
	}
}
