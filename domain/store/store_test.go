package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
	"gpupool/migrations"
)

func TestTheClocksStandStillInATransaction(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var wall pool.Instant
	tick := func(c *store.Config) {
		c.Wall = func() pool.Instant { mu.Lock(); defer mu.Unlock(); wall++; return storetest.Start + wall }
		c.Business = func(w pool.Instant) pool.Instant { return 10 * w }
	}
	storetest.EachWith(t, tick, func(t *testing.T, s *store.Store) {
		var last pool.Instant
		for range 3 {
			inTx(t, s, func(tx domain.Tx) error {
				if tx.Wall() <= last || tx.Now() != 10*tx.Wall() {
					t.Errorf("wall %d after %d, now %d", tx.Wall(), last, tx.Now())
				}
				last = tx.Wall()
				if tx.Wall() != last || tx.Now() != 10*last {
					t.Error("the clocks moved inside a transaction")
				}
				return nil
			})
		}
	})
}

func TestAnUpdateThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		sorry := errors.New("sorry")
		if err := s.Update(context.Background(), func(tx domain.Tx) error {
			if err := tx.SetFlag("a", "1"); err != nil {
				return err
			}
			return sorry
		}); !errors.Is(err, sorry) {
			t.Errorf("%v, want the error of the function", err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_ = s.Update(context.Background(), func(tx domain.Tx) error {
				_ = tx.SetFlag("a", "2")
				panic("oh")
			})
		}()
		inTx(t, s, func(tx domain.Tx) error { // on SQLite it would wait for ever if the panic kept the connection
			v, err := tx.Flag("a")
			if v != "" {
				t.Errorf("flag is %q", v)
			}
			return err
		})
	})
}

func TestAViewChangesNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		if err := s.View(context.Background(), func(tx domain.Tx) error { return tx.SetFlag("a", "1") }); err == nil {
			t.Error("a view changed something")
		}
		inView(t, s, func(tx domain.Tx) error {
			v, err := tx.Flag("a")
			if v != "" {
				t.Errorf("flag is %q", v)
			}
			return err
		})
	})
}

func TestAViewSeesOneState(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		inView(t, s, func(tx domain.Tx) error {
			before, err := tx.Version()
			if err != nil {
				return err
			}
			inTx(t, s, func(tx domain.Tx) error { return tx.BumpVersion() })
			after, err := tx.Version()
			if before != after {
				t.Errorf("version was %d and is %d in one view", before, after)
			}
			return err
		})
	})
}

func TestUpdatesAtOnceAreSerial(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const writers, times = 8, 10
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for range times {
					err := s.Update(context.Background(), func(tx domain.Tx) error {
						v, err := tx.Flag("n")
						if err != nil {
							return err
						}
						return tx.SetFlag("n", v+"x") // read, then write what depends on it
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		inView(t, s, func(tx domain.Tx) error {
			v, err := tx.Flag("n")
			if len(v) != writers*times {
				t.Errorf("%d of %d updates are there", len(v), writers*times)
			}
			return err
		})
	})
}

func TestAConflictLeavesTheTransactionUsable(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		inTx(t, s, func(tx domain.Tx) error {
			o := domain.Organisation{ID: "uni", Name: "University"}
			if err := tx.InsertOrg(o); err != nil {
				return err
			}
			wantCode(t, "twice", tx.InsertOrg(o), domain.Conflict)
			_, err := tx.Org("clinic")
			wantCode(t, "unknown", err, domain.NotFound)
			return tx.SetFlag("after", "1")
		})
		inView(t, s, func(tx domain.Tx) error {
			v, err := tx.Flag("after")
			if v != "1" {
				t.Error("what came after the conflict is gone")
			}
			return err
		})
	})
}

func TestAFailureThatIsSwallowedIsNotCommitted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		err := s.Update(context.Background(), func(tx domain.Tx) error {
			wantCode(t, "a member of nobody", tx.SaveMembership(domain.Membership{User: "u", Org: "o", Role: pool.RoleOwner}), domain.NotFound)
			return nil
		})
		if err == nil {
			t.Error("the rest was committed, or PostgreSQL rolled back and nobody was told")
		}
	})
}

func TestTextThatOneEngineRefusesIsRefusedByBoth(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for _, bad := range []string{"a\x00b", "\xff\xfe", "\xed\xa0\x80"} {
			err := s.Update(context.Background(), func(tx domain.Tx) error { return tx.SetFlag("a", bad) })
			wantCode(t, "flag", err, domain.Invalid)
		}
		long := strings.Repeat("长🚀\u0301", 200_000)
		inTx(t, s, func(tx domain.Tx) error { return firstError(tx.SetFlag("a", hardText), tx.SetFlag("long", long)) })
		inView(t, s, func(tx domain.Tx) error {
			a, err := tx.Flag("a")
			b, err2 := tx.Flag("long")
			if a != hardText || b != long {
				t.Error("text changed on its way")
			}
			return firstError(err, err2)
		})
	})
}

func TestStatementsAreCountedPerContext(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := store.Counting(context.Background())
		if err := s.View(ctx, func(tx domain.Tx) error { _, err := tx.PlanVersions(); return err }); err != nil {
			t.Fatal(err)
		}
		if n := store.Count(ctx); n != 2 {
			t.Errorf("%d statements, want one for the versions and one for their classes", n)
		}
		if n := store.Count(context.Background()); n != 0 {
			t.Errorf("%d statements counted where nobody counts", n)
		}
	})
}

func TestACancelledContextIsNotAnInternalError(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := s.Update(ctx, func(tx domain.Tx) error { return tx.BumpVersion() }); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want context.Canceled", err)
		}
		inTx(t, s, func(tx domain.Tx) error { return tx.BumpVersion() })
	})
}

func TestANewerSchemaIsRefusedInOneSentence(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T, c store.Config) {
		c.Wall = func() pool.Instant { return storetest.Start }
		s, err := store.Open(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		inTx(t, s, func(tx domain.Tx) error { return tx.SetFlag("kept", "1") })
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s, err = store.Open(context.Background(), c) // the same schema again
		if err != nil {
			t.Fatal(err)
		}
		inView(t, s, func(tx domain.Tx) error {
			v, err := tx.Flag("kept")
			if v != "1" {
				t.Error("opening it again lost data")
			}
			return err
		})
		if _, err := s.DB().Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, " + map[string]string{"sqlite": "1", "postgres": "true"}[s.Engine()] + ")"); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		_, err = store.Open(context.Background(), c)
		var newer *migrations.NewerError
		if !errors.As(err, &newer) || newer.Database != 999 || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want one sentence about schema 999", err)
		}
	}
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); open(t, storetest.SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); open(t, storetest.Postgres(t)) })
}

func TestAPathMayHaveAnyCharacter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a b?c#d%20é.db")
	s, err := store.Open(context.Background(), store.Config{SQLitePath: path, Wall: func() pool.Instant { return 1 }})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Ping(context.Background()), s.Close()); err != nil {
		t.Fatal(err)
	}
	if found, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.db")); len(found) != 1 || found[0] != path {
		t.Errorf("the file is %q, want %q", found, path)
	}
}

func TestOpenRefusesWhatItCannotUse(t *testing.T) {
	t.Parallel()
	wall := func() pool.Instant { return 1 }
	for name, c := range map[string]store.Config{
		"nothing":       {Wall: wall},
		"both":          {SQLitePath: "x", PostgresURL: "postgres://localhost/x", Wall: wall},
		"no clock":      {SQLitePath: filepath.Join(t.TempDir(), "x.db")},
		"no folder":     {SQLitePath: filepath.Join(t.TempDir(), "none", "x.db"), Wall: wall},
		"a folder":      {SQLitePath: t.TempDir(), Wall: wall},
		"a bad address": {PostgresURL: "postgres://user:hunter2@[::1", Wall: wall},
		"nobody there":  {PostgresURL: "postgres://user:hunter2@127.0.0.1:1/x?connect_timeout=2", Wall: wall},
	} {
		s, err := store.Open(context.Background(), c)
		if err == nil {
			s.Close()
			t.Errorf("%s: opened", name)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error shows the password: %v", name, err)
		}
	}
}
