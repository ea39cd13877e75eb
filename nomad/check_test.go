package nomad_test

import (
	"errors"
	"strings"
	"testing"

	"gpupool/domain"
	"gpupool/nomad"
)

func TestWhatAPersonMaySend(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range 200 {
		many["V"+strings.Repeat("X", i%100)+string(rune('A'+i%26))] = "1"
	}
	image := "ghcr.io/acme/train:1.2"
	tests := []struct {
		sentence string
		spec     domain.JobSpec
		nodes    int
		driver   string
		fields   string // of the faults, joined; empty: fine
	}{
		{"an image alone", domain.JobSpec{Image: image}, 1, "docker", ""},
		{"an image by digest", domain.JobSpec{Image: "python@sha256:" + strings.Repeat("0a", 32)}, 1, "docker", ""},
		{"a registry with a port", domain.JobSpec{Image: "localhost:5000/a--b/c_d:v1.0-rc.1"}, 1, "docker", ""},
		{"a line for the shell", domain.JobSpec{Image: image, Command: "python train.py > $HOME/log"}, 1, "docker", ""},
		{"Chinese and emoji in a value", domain.JobSpec{Image: image, Env: map[string]string{"TITLE": "训练 🚀"}}, 1, "docker", ""},
		{"the task's folder in an argument", domain.JobSpec{Image: image, Command: "ls", Args: []string{"${NOMAD_TASK_DIR}"}}, 1, "docker", ""},
		{"a master address on one node", domain.JobSpec{Image: image, Env: map[string]string{"MASTER_ADDR": "localhost"}}, 1, "docker", ""},
		{"no image", domain.JobSpec{}, 1, "docker", "image"},
		{"an image that Nomad would fill in", domain.JobSpec{Image: "${attr.os.name}"}, 1, "docker", "image"},
		{"an image with a space", domain.JobSpec{Image: "a b"}, 1, "podman", "image"},
		{"script as an image", domain.JobSpec{Image: "<script>alert(1)</script>"}, 1, "docker", "image"},
		{"a command that Nomad would fill in", domain.JobSpec{Image: image, Command: "echo ${node.unique.id}"}, 1, "docker", "command"},
		{"arguments without a command", domain.JobSpec{Image: image, Args: []string{"x"}}, 1, "docker", "command"},
		{"another node's word in an argument", domain.JobSpec{Image: image, Command: "ls", Args: []string{"${meta.secret}"}}, 1, "docker", "args"},
		{"an unfinished folder in an argument", domain.JobSpec{Image: image, Command: "ls", Args: []string{"${NOMAD_TASK_DIR"}}, 1, "docker", "args"},
		{"all GPUs by the back door", domain.JobSpec{Image: image, Env: map[string]string{"NVIDIA_VISIBLE_DEVICES": "all"}}, 1, "docker", "env"},
		{"the same in small letters", domain.JobSpec{Image: image, Env: map[string]string{"nvidia_visible_devices": "all"}}, 1, "docker", "env"},
		{"a library of one's own", domain.JobSpec{Image: image, Env: map[string]string{"LD_PRELOAD": "/x.so"}}, 1, "docker", "env"},
		{"a name of Nomad's", domain.JobSpec{Image: image, Env: map[string]string{"NOMAD_TOKEN": "x"}}, 1, "docker", "env"},
		{"other cards for CUDA", domain.JobSpec{Image: image, Env: map[string]string{"CUDA_VISIBLE_DEVICES": "0"}}, 1, "docker", "env"},
		{"a rank of one's own in a gang", domain.JobSpec{Image: image, Env: map[string]string{"NODE_RANK": "0"}}, 2, "docker", "env"},
		{"no name of a variable", domain.JobSpec{Image: image, Env: map[string]string{"A B": "0", "": "1"}}, 1, "docker", "env,env"},
		{"a value that Nomad would fill in", domain.JobSpec{Image: image, Env: map[string]string{"A": "x${env.B}"}}, 1, "docker", "env"},
		{"a zero byte", domain.JobSpec{Image: image, Command: "a\x00b", Args: []string{"\x00"}}, 1, "docker", "command,args"},
		{"too many variables", domain.JobSpec{Image: image, Env: many}, 1, "docker", "env"},
		{"an image where none is run", domain.JobSpec{Image: image, Command: "ls"}, 1, "exec", "image"},
		{"no command where no image is run", domain.JobSpec{}, 1, "exec", "command"},
	}
	for _, tt := range tests {
		t.Run(tt.sentence, func(t *testing.T) {
			t.Parallel()
			c, err := nomad.New(nomad.Config{Addr: "http://127.0.0.1:1", Driver: tt.driver})
			must(t, err)
			if got := fields(c.CheckSpec(tt.spec, tt.nodes)); got != tt.fields {
				t.Fatalf("faults in %q, want %q", got, tt.fields)
			}
		})
	}
}

func TestImagesComeFromTheAllowedRegistries(t *testing.T) {
	t.Parallel()
	c, err := nomad.New(nomad.Config{Addr: "http://127.0.0.1:1", Driver: "docker", Registries: []string{"ghcr.io/acme"}})
	must(t, err)
	for image, want := range map[string]string{"ghcr.io/acme/a:1": "", "ghcr.io/acmeevil/a:1": "image", "python": "image"} {
		if got := fields(c.CheckSpec(domain.JobSpec{Image: image}, 1)); got != want {
			t.Errorf("%s has faults in %q", image, got)
		}
	}
}

func TestAConfigurationIsCheckedBeforeItIsUsed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		sentence string
		cfg      nomad.Config
		ok       bool
	}{
		{"docker", nomad.Config{Addr: "http://x:4646", Driver: "docker"}, true},
		{"raw_exec in a test pool", nomad.Config{Addr: "https://x:4646", Driver: "raw_exec", TestPool: true}, true},
		{"raw_exec in a real one", nomad.Config{Addr: "http://x:4646", Driver: "raw_exec"}, false},
		{"an unknown driver", nomad.Config{Addr: "http://x:4646", Driver: "java", TestPool: true}, false},
		{"no address", nomad.Config{Driver: "docker"}, false},
		{"an address without a scheme", nomad.Config{Addr: "x:4646", Driver: "docker"}, false},
		{"a password in the address", nomad.Config{Addr: "http://u:p@x:4646", Driver: "docker"}, false},
		{"a bad prefix", nomad.Config{Addr: "http://x:4646", Driver: "docker", Prefix: "A b"}, false},
		{"an unreadable certificate", nomad.Config{Addr: "https://x:4646", Driver: "docker", CACert: "/does/not/exist"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.sentence, func(t *testing.T) {
			t.Parallel()
			_, err := nomad.New(tt.cfg)
			if (err == nil) != tt.ok || err != nil && (domain.CodeOf(err) != domain.Invalid || strings.Contains(err.Error(), "u:p")) {
				t.Fatalf("gives %v", err)
			}
		})
	}
}

// fields of the faults in err, in order.
func fields(err error) string {
	var e *domain.Error
	if !errors.As(err, &e) {
		return ""
	}
	names := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		names[i] = f.Field
	}
	return strings.Join(names, ",")
}
