/** The published part of the test kit. The other files are for the tests of this repository (decision 0001). */
export { ManualClock } from '../clock.ts'
export { testSeed, testSigner } from '../keys.ts'
export { startTestNetwork } from './network.ts'
export type { RunningTestNetwork, TestNetworkOptions } from './network.ts'
export type { PublicGateway, PublicGatewayOptions } from './gateway.ts'
export { startTestPartners } from './partners.ts'
export type { PartnersOptions, TestPartners } from './partners.ts'
