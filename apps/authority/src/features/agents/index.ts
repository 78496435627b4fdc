export { dropAgents, listAgentsOf } from './store.ts'
