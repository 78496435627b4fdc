export { checkReadiness } from './readiness.ts'
export { holdDocuments } from './public-reads.ts'
export { HealthReports } from './report.ts'
export { HealthWatch } from './watch.job.ts'
