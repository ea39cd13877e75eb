package web

import "gpupool/domain/pool"

// jobStop stops a job; what it has used is charged.
func (s *Server) jobStop(v *visit) error {
	id := pool.JobID(v.param("job"))
	if err := s.service.StopJob(v.ctx, v.actor, v.org, id); err != nil {
		return err
	}
	return v.done(v.jobPath(id, ""), "The job is being stopped.")
}
