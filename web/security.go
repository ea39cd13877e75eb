package web

import (
	"net/http"
	"strings"

	"gpupool/domain"
)

// stripeHosts are where a form may lead: without them the browser blocks the redirect to a payment page.
var stripeHosts = []string{"https://checkout.stripe.com", "https://billing.stripe.com", "https://invoice.stripe.com"}

var policy = strings.Join([]string{
	"default-src 'self'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'", "font-src 'self'",
	"object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'", "form-action 'self' " + strings.Join(stripeHosts, " "),
}, "; ")

// secure sets the headers that every answer has.
func secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()")
		next.ServeHTTP(w, r)
	})
}

// protect refuses changes that another site asks for in a person's name.
func (s *Server) protect(next http.Handler) (http.Handler, error) {
	p := http.NewCrossOriginProtection()
	if s.opts.PublicURL != "" {
		if err := p.AddTrustedOrigin(s.opts.PublicURL); err != nil {
			return nil, err
		}
	}
	p.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.fail(domain.Errf(domain.Forbidden, "Another site sent this form. Open the portal and send it from there."), s.echo.NewContext(r, w))
	}))
	handler := p.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			r.Body = http.MaxBytesReader(w, r.Body, bodyLimit)
		}
		handler.ServeHTTP(w, r)
	}), nil
}
