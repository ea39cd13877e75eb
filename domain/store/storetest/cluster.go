package storetest

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// lifeline runs a cluster until its standard input ends, which happens when
// the test binary exits in whatever way, and then removes it. Stopping needs
// no care: nobody wants the data.
const lifeline = `
"$1"/initdb -D "$2"/data -A trust -U gpupool -E UTF8 --locale=C --no-sync -N >"$2"/log 2>&1 || exit 1
"$1"/postgres -D "$2"/data -k "$2" -p 5432 -c listen_addresses= -c fsync=off -c synchronous_commit=off \
	-c full_page_writes=off -c wal_level=minimal -c max_wal_senders=0 -c max_wal_size=4GB \
	-c max_connections=400 -c shared_buffers=128MB -c autovacuum=off >>"$2"/log 2>&1 </dev/null &
pid=$!
touch "$2"/started
read -r _
kill -QUIT $pid
wait $pid
rm -rf "$2"
`

// startCluster starts a PostgreSQL of this test binary's own behind a socket
// in a temporary folder and returns its address.
func startCluster() (string, error) {
	bin, err := postgresPrograms()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "gpupool-pg-") // short: a socket's path has 107 bytes at most
	if err != nil {
		return "", err
	}
	cmd := exec.Command("sh", "-c", lifeline, "sh", bin, dir)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt of the tests reaches it through the lifeline only
	if os.Geteuid() == 0 {                                // PostgreSQL refuses to run as root
		id, err := unprivileged()
		if err != nil {
			return "", err
		}
		cmd.SysProcAttr.Credential = id
		if err := os.Chown(dir, int(id.Uid), int(id.Gid)); err != nil {
			return "", err
		}
	}
	if _, err := cmd.StdinPipe(); err != nil { // never written, open as long as we live
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	socket := filepath.Join(dir, ".s.PGSQL.5432")
	for range 600 {
		select {
		case <-ended:
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			return "", fmt.Errorf("the cluster did not start: %s", log)
		case <-time.After(50 * time.Millisecond):
		}
		if _, err := os.Stat(socket); err == nil {
			u := url.URL{Scheme: "postgres", User: url.User("gpupool"), Path: "/postgres",
				RawQuery: url.Values{"host": {dir}, "port": {"5432"}, "sslmode": {"disable"}}.Encode()}
			return u.String(), awaitReady(u.String())
		}
	}
	return "", errors.New("the cluster did not start within 30 s")
}

// postgresPrograms finds the folder of initdb and postgres.
func postgresPrograms() (string, error) {
	if p, err := exec.LookPath("initdb"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil {
			if _, err := os.Stat(filepath.Join(filepath.Dir(p), "postgres")); err == nil {
				return filepath.Dir(p), nil
			}
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", fmt.Errorf("%w: %s is not set and this machine has no initdb", errNoServer, DatabaseEnv)
	}
	return filepath.Dir(found[len(found)-1]), nil
}

func unprivileged() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, fmt.Errorf("%w: no unprivileged user to run it as", errNoServer)
}
