package web

import (
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"time"

	"gpupool/domain"
)

// refusedForm is kept as the answer of a form that was refused: nothing was done, so the same form may come again.
const refusedForm = "refused"

// newNonce goes into a form, so that the form is done once however often it is sent.
func newNonce() string { return rand.Text() }

// sent reads a form and handles it once. Strangers' forms have no nonce: what they do (signing in, accepting an
// invitation, becoming the operator) happens once by itself.
func (v *visit) sent(handle func(*Server, *visit) error) error {
	r := v.echo.Request()
	if err := r.ParseForm(); err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return err
		}
		return &domain.Error{Code: domain.Invalid, Message: "The form could not be read.", Err: err}
	}
	if !v.actor.SignedIn() || v.route.asks {
		return handle(v.server, v)
	}
	v.nonce = v.text("nonce")
	if v.nonce == "" || len(v.nonce) > 100 {
		return domain.Errf(domain.Invalid, "The form has no mark of its page. Open the page again and send it from there.")
	}
	fresh, answer, err := v.claim()
	if err != nil {
		return err
	}
	if !fresh {
		return v.again(answer)
	}
	err = handle(v.server, v)
	answer = refusedForm
	if res := v.echo.Response(); err == nil && res.Status == http.StatusSeeOther {
		answer = local(res.Header().Get("Location"), "/")
	} else if err == nil && res.Status < 400 {
		answer = v.echo.Request().URL.Path // a page was the answer; a second one is led to where it stands
	}
	if ferr := v.finish(answer); err == nil && ferr != nil {
		v.server.log.Error("form answer not kept", "error", ferr)
	}
	return err
}

// claim takes the nonce. One whose form was refused can be taken once more.
func (v *visit) claim() (fresh bool, answer string, err error) {
	err = v.server.store.Update(v.ctx, func(tx domain.Tx) error {
		fresh, answer, err = tx.UseNonce(domain.Nonce{Nonce: v.nonce, User: v.actor.User, At: tx.Wall()})
		if err == nil && !fresh && answer == refusedForm {
			fresh = true
			return tx.FinishNonce(v.nonce, "")
		}
		return err
	})
	return fresh, answer, err
}

func (v *visit) finish(answer string) error {
	return v.server.store.Update(v.ctx, func(tx domain.Tx) error { return tx.FinishNonce(v.nonce, answer) })
}

// again answers a form that was sent before as it was answered then, waiting while that is under way.
func (v *visit) again(answer string) error {
	ticks := time.NewTicker(50 * time.Millisecond)
	defer ticks.Stop()
	for tries := 0; answer == "" && tries < 100; tries++ {
		select {
		case <-v.ctx.Done():
			return v.ctx.Err()
		case <-ticks.C:
		}
		err := v.server.store.Update(v.ctx, func(tx domain.Tx) (err error) {
			_, answer, err = tx.UseNonce(domain.Nonce{Nonce: v.nonce, User: v.actor.User, At: tx.Wall()})
			return err
		})
		if err != nil {
			return err
		}
	}
	if !strings.HasPrefix(answer, "/") {
		return domain.Errf(domain.Conflict, "This form was sent already. Open the page again to see what became of it.")
	}
	return v.redirect(answer)
}
