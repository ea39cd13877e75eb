package web

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"gpupool/domain"
	"gpupool/domain/store/storetest"
)

func TestTheOperatorsPagesAskTheSameHoweverManyMembersThereAre(t *testing.T) {
	t.Parallel()
	b := full(t, nil)
	w := b.as(b.Operator.Email)
	asks := func(path string) int64 {
		ctx := storetest.Counting(b.ctx)
		r := httptest.NewRequestWithContext(ctx, "GET", path, nil)
		r.Header.Set("Cookie", w.cookie())
		a := httptest.NewRecorder()
		b.server.ServeHTTP(a, r)
		if a.Code != 200 {
			t.Fatalf("%s: %d", path, a.Code)
		}
		return storetest.Count(ctx)
	}
	pages := []string{"/op", "/op/members", "/op/classes", "/op/plans", "/op/prices", "/op/nodes", "/op/queue", "/op/quota", "/op/policies", "/op/announcements", "/op/closing", "/op/invoices", "/op/settings", "/op/audit"}
	before := map[string]int64{}
	for _, p := range pages {
		asks(p) // reads what changes seldom
		before[p] = asks(p)
	}
	for i := range 30 {
		_, _, _, err := b.Service.CreateMember(b.ctx, b.Operator, domain.CreateMemberInput{Slug: fmt.Sprintf("member-%d", i), Name: fmt.Sprintf("Member %d", i), OwnerEmail: "o@m.example"})
		b.must(err)
	}
	for _, p := range pages {
		asks(p)
		if n := asks(p); n != before[p] || n > 12 || n == 0 {
			t.Errorf("%s: %d statements, %d with 30 more members; at most 12 and the same", p, before[p], n)
		}
	}
}
