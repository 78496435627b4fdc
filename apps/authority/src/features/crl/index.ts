export { findActiveVersion } from './store.ts'
