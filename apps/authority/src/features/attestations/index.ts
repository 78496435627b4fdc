export { findStanding } from './standing.ts'
