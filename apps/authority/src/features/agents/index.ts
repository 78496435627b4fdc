export { dropAgents } from './store.ts'
