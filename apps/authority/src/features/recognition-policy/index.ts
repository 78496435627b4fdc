export { findActiveRecognitionPolicy } from './store.ts'
