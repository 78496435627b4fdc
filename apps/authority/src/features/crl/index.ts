export { findActiveCrl } from './store.ts'
