package store

import (
	"sync"
)

// settled are the tables whose content changes seldom and is read by every
// page: people, members, catalogue, prices, subscriptions, nodes. A commit that
// touched one of them gets a new terms version; what was read under the old
// one is forgotten.
var settled = map[string]bool{
	"settings": true, "users": true, "organisations": true, "memberships": true, "projects": true, "project_members": true,
	"project_accounts": true, "gpu_classes": true, "plans": true, "plan_versions": true, "plan_classes": true, "price_lists": true,
	"price_rows": true, "subscriptions": true, "quota_limits": true, "quota_weights": true, "project_quotas": true, "spending_caps": true, "sites": true, "nodes": true,
	"contributions": true, "purchase_orders": true, "time_policies": true, "announcements": true,
}

// memo keeps what was loaded under one terms version.
type memo struct {
	mu      sync.Mutex
	version int64
	values  map[string]any
}

func (m *memo) get(version int64, key string) (any, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.version != version {
		return nil, false
	}
	v, ok := m.values[key]
	return v, ok
}

// put keeps a value of the newest version seen; an older reader keeps nothing.
func (m *memo) put(version int64, key string, v any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if version < m.version {
		return
	}
	if version > m.version || m.values == nil {
		m.version, m.values = version, map[string]any{}
	}
	m.values[key] = v
}

// Memo is load, or what an earlier View loaded under the key and the same
// terms version. The value is shared: nobody may change it. In Update it always
// loads, because what is not committed must not be kept.
func (t *tx) Memo(key string, load func() (any, error)) (any, error) {
	if t.writes {
		return load()
	}
	r, err := t.poolOnce()
	if err != nil {
		return nil, err
	}
	if v, ok := t.memo.get(r.Terms, key); ok {
		return v, nil
	}
	v, err := load()
	if err == nil {
		t.memo.put(r.Terms, key, v)
	}
	return v, err
}

// touch notes that a table was written.
func (t *tx) touch(table string) {
	if settled[table] {
		t.touched = true
	}
}

// commitTerms gives a transaction that touched a settled table its version.
func (t *tx) commitTerms() error {
	if !t.touched {
		return nil
	}
	_, err := t.exec("UPDATE pool SET terms_version = terms_version + 1 WHERE id = 1")
	return err
}
