export { dropAgents, listAgentsOf, unlistAllAgents } from './store.ts'
