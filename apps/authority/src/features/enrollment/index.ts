export { countActiveNodes, countCertificates } from './store.ts'
