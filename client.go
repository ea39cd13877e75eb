package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gpupool/domain/money"
)

// Exit codes of every command. `job run --wait` and `job logs --wait` end with the job's own code instead.
const (
	exitFailed      = 1 // whatever is not listed here; `verify`: differences, `close`: an account failed, `cases`: one came out wrong
	exitUsage       = 2 // unknown flag, missing or wrong input
	exitNotAllowed  = 3 // no valid token, or it may not do this
	exitNotFound    = 4
	exitRefused     = 5 // not possible now: too dear, too many requests, the state does not allow it
	exitUnavailable = 6 // the portal can't be reached or failed
)

const exitHelp = `Exit codes: 0 done; 1 failed; 2 wrong usage or input; 3 no valid token or not allowed; 4 not found;
5 not possible now (too dear, too many requests, wrong state); 6 the portal can't be reached or failed.`

// exitError ends the program with a code of its own. An empty text prints nothing: all has been said.
type exitError struct {
	code int
	text string
}

func (e *exitError) Error() string { return e.text }

func failed(code int, format string, args ...any) error {
	return &exitError{code, fmt.Sprintf(format, args...)}
}

// complaints are cobra's own about arguments and flags: they have no type.
var complaints = []string{"unknown command ", "unknown flag: ", "unknown shorthand flag: ", "flag needs an argument: ", "required flag(s) ", "invalid argument ", " arg(s), "}

// exitCode is what the program ends with.
func exitCode(err error) int {
	var e *exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.code
	case slices.ContainsFunc(complaints, func(c string) bool { return strings.Contains(err.Error(), c) }):
		return exitUsage
	}
	return exitFailed
}

// remote is how commands reach the portal.
type remote struct {
	url, tokenFile, org string
	json                bool
}

func (r *remote) flags(c *cobra.Command) {
	f := c.PersistentFlags()
	f.StringVar(&r.url, "url", "", "address of the portal (GPUPOOL_URL; http://localhost:8080)")
	f.StringVar(&r.tokenFile, "token-file", "", "file with an API token (else GPUPOOL_TOKEN or GPUPOOL_TOKEN_FILE)")
	f.StringVar(&r.org, "org", "", "organisation (GPUPOOL_ORG; may be left out by who belongs to one only)")
	f.BoolVar(&r.json, "json", false, "print the API's answer as JSON")
}

// api is a client of the portal's JSON API.
type api struct {
	base  *url.URL
	token string
	http  *http.Client
	agent string
}

// connect finds address and token. A token goes over plain http to this machine only, or where plain is meant.
func (r *remote) connect(warn io.Writer) (*api, error) {
	address := cmp.Or(r.url, os.Getenv("GPUPOOL_URL"), "http://localhost:8080")
	u, err := url.Parse(strings.TrimSuffix(address, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, failed(exitUsage, "--url: %q is not an address such as https://pool.example.org", address)
	}
	token := os.Getenv("GPUPOOL_TOKEN")
	if file := cmp.Or(r.tokenFile, os.Getenv("GPUPOOL_TOKEN_FILE")); r.tokenFile != "" || token == "" && file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, failed(exitUsage, "--token-file: %v", err)
		}
		token = string(b)
	}
	if token = strings.TrimSpace(token); token == "" {
		return nil, failed(exitNotAllowed, "an API token is needed: make one on your account page (%s/account) and put it into GPUPOOL_TOKEN or a file named by --token-file", u)
	}
	if u.Scheme == "http" && !local(u.Hostname()) {
		fmt.Fprintf(warn, "warning: the token goes to %s in the clear; use https\n", u.Host)
	}
	// A redirect is never followed: it could carry the token elsewhere, or hide a wrong address.
	h := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &api{base: u, token: token, http: h, agent: "gpupool-cli/" + version}, nil
}

func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// callLimit is longer than the portal's own for what is no stream.
const callLimit = 40 * time.Second

// open sends a request and returns the answer when it is a success; every other one is an error in words.
func (a *api) open(ctx context.Context, method, path string, query url.Values, body any, header http.Header) (*http.Response, error) {
	var r io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		r = bytes.NewReader(b)
	}
	u := a.base.JoinPath("/api/v1", path)
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, u.String(), r)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("User-Agent", a.agent)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range header {
		req.Header[k] = v
	}
	res, err := a.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return nil, failed(exitUnavailable, "%s can't be reached: %v", a.base, err)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		defer res.Body.Close()
		return nil, a.refusal(res)
	}
	return res, nil
}

// call sends a request; the answer goes into into, and comes back as it stands.
func (a *api) call(ctx context.Context, method, path string, query url.Values, body, into any, header http.Header) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	res, err := a.open(ctx, method, path, query, body, header)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, failed(exitUnavailable, "the answer of %s broke off: %v", a.base, err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		return nil, failed(exitUnavailable, "%s does not answer like a GPU Pool portal: is the address right?", a.base)
	}
	return b, nil
}

func (a *api) get(ctx context.Context, path string, query url.Values, into any) ([]byte, error) {
	return a.call(ctx, http.MethodGet, path, query, nil, into, nil)
}

// refusal puts a problem into words, each wrong field on a line of its own.
func (a *api) refusal(res *http.Response) error {
	var p struct {
		Code, Detail string
		Errors       []struct{ Pointer, Parameter, Header, Detail string }
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil || json.Unmarshal(b, &p) != nil || p.Code == "" {
		return failed(exitUnavailable, "%s answered %s, not like a GPU Pool portal: is the address right?", a.base, res.Status)
	}
	text := p.Detail
	for _, e := range p.Errors {
		text += "\n  " + flagOf(strings.TrimPrefix(e.Pointer, "/")+e.Parameter+e.Header) + ": " + e.Detail
	}
	if wait := res.Header.Get("Retry-After"); wait != "" {
		text += " (try again in " + wait + " s)"
	}
	code := exitFailed
	switch s := res.StatusCode; {
	case s == 401 || s == 403:
		code = exitNotAllowed
	case s == 404:
		code = exitNotFound
	case s == 409 || s == 412 || s == 429:
		code = exitRefused
	case s >= 500:
		code = exitUnavailable
	case s >= 400:
		code = exitUsage
	}
	if len(p.Errors) == 1 && p.Errors[0].Pointer == "/max_cost" {
		code = exitRefused
	}
	return failed(code, "%s", text)
}

// flagOf is the flag with which a field of the body is given.
func flagOf(field string) string {
	flags := map[string]string{"project": "--project", "name": "--name", "classes": "--class", "nodes": "--nodes", "gpus_per_node": "--gpus", "tier": "--tier",
		"priority": "--priority", "max_run_seconds": "--max-run", "gpus": "--gpus", "node": "--node", "org": "--member", "class": "--class", "not_before": "--not-before", "deadline": "--deadline", "depends_on": "--after", "env": "--env", "max_cost": "--max-cost",
		"image": "IMAGE", "command": "COMMAND", "args": "COMMAND", "simulation": "--simulate", "Idempotency-Key": "--idempotency-key"}
	if f, ok := flags[field]; ok {
		return f
	}
	return field
}

// amount is money as the API has it.
type amount struct {
	Minor    int64  `json:"amount_minor"`
	Currency string `json:"currency"`
}

func (a amount) String() string {
	c, err := money.CurrencyOf(a.Currency)
	if err != nil {
		return fmt.Sprintf("%d minor units of %s", a.Minor, a.Currency)
	}
	return c.Format(money.Amount(a.Minor)) + " " + a.Currency
}

type orgInfo struct{ ID, Name, Role string }

type meInfo struct {
	Currency, Zone string
	Now            time.Time
	Orgs           []orgInfo
}

// path is an API path of the organisation: the one named, or the only one.
func (r *remote) path(ctx context.Context, a *api) (string, error) {
	org := cmp.Or(r.org, os.Getenv("GPUPOOL_ORG"))
	if org == "" {
		var me meInfo
		if _, err := a.get(ctx, "/me", nil, &me); err != nil {
			return "", err
		}
		var ids []string
		for _, o := range me.Orgs {
			if o.Role != "" {
				ids = append(ids, o.ID)
			}
		}
		if len(ids) == 0 {
			ids = nil
			for _, o := range me.Orgs {
				ids = append(ids, o.ID)
			}
			if len(ids) == 0 {
				return "", failed(exitNotAllowed, "the token's owner belongs to no organisation")
			}
			return "", failed(exitUsage, "--org: the token's owner belongs to no organisation; name one of the pool's: %s", strings.Join(ids, ", "))
		}
		if len(ids) != 1 {
			return "", failed(exitUsage, "--org: name the organisation, one of %s", strings.Join(ids, ", "))
		}
		org = ids[0]
	}
	return "/orgs/" + url.PathEscape(org), nil
}

// start connects and finds the organisation.
func (r *remote) start(cmd *cobra.Command) (*api, string, error) {
	a, err := r.connect(cmd.ErrOrStderr())
	if err != nil {
		return nil, "", err
	}
	org, err := r.path(cmd.Context(), a)
	return a, org, err
}

// localTime is an instant as people read it here.
func localTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04 MST")
}
