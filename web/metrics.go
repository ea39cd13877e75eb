package web

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"gpupool/domain"
)

// meters is what Prometheus reads. Every label has a bounded set of values: routes are patterns, never paths.
type meters struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMeters(s *domain.Service, store domain.Store) *meters {
	m := &meters{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "gpupool_http_requests_total", Help: "Requests answered, by route, method and status."}, []string{"route", "method", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "gpupool_http_request_seconds", Help: "Time from request to answer, by route.",
			Buckets: []float64{.005, .02, .05, .1, .3, 1, 3, 10}}, []string{"route"}),
	}
	m.registry.MustRegister(m.requests, m.seconds, poolCollector{s, store}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *meters) request(route, method string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, methodOf(method), strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}

// Metrics is the same as /metrics without a token, for a listener of its own.
func (s *Server) Metrics() http.Handler {
	return promhttp.HandlerFor(s.meters.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// poolCollector counts the pool when it is asked.
type poolCollector struct {
	service *domain.Service
	store   domain.Store
}

var (
	gpusDesc    = prometheus.NewDesc("gpupool_gpus", "GPUs by class and use: own, loan, spot, free, out.", []string{"class", "use"}, nil)
	jobsDesc    = prometheus.NewDesc("gpupool_jobs", "Jobs that have not ended, by state.", []string{"state"}, nil)
	waitingDesc = prometheus.NewDesc("gpupool_jobs_waiting_by_reason", "Waiting jobs by their first reason.", []string{"reason"}, nil)
	outboxDesc  = prometheus.NewDesc("gpupool_outbox_open", "Rows of the outbox that are not done.", nil, nil)
	clusterDesc = prometheus.NewDesc("gpupool_cluster_up", "1 when the last contact with the cluster worked.", nil, nil)
)

func (c poolCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{gpusDesc, jobsDesc, waitingDesc, outboxDesc, clusterDesc} {
		ch <- d
	}
}

func (c poolCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	gauge := func(d *prometheus.Desc, n int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
	}
	up := int64(0)
	if c.service.ClusterHealth().OK {
		up = 1
	}
	gauge(clusterDesc, up)
	var open int64
	if err := c.store.View(ctx, func(tx domain.Tx) (err error) { open, err = tx.OpenOutbox(); return err }); err != nil {
		ch <- prometheus.NewInvalidMetric(outboxDesc, err)
		return
	}
	gauge(outboxDesc, open)
	now, err := c.service.PoolNow(ctx)
	if domain.CodeOf(err) == domain.NotFound && err != nil {
		return // a pool that nobody has set up
	}
	if err != nil {
		ch <- prometheus.NewInvalidMetric(gpusDesc, err)
		return
	}
	for _, k := range now.Classes {
		for use, n := range map[string]int{"own": k.Own, "loan": k.Loan, "spot": k.Spot, "free": k.Free, "out": k.Out} {
			gauge(gpusDesc, int64(n), string(k.Class.ID), use)
		}
	}
	gauge(jobsDesc, int64(now.Waiting), "waiting")
	gauge(jobsDesc, int64(now.Running), "running")
	for _, r := range now.Reasons {
		gauge(waitingDesc, int64(r.Jobs), string(r.Code))
	}
}
