export { checkReadiness } from './readiness.ts'
