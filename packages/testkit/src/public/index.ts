/** The published part of the test kit. The other files are for the tests of this repository (decision 0001). */
export { ManualClock } from '../clock.ts'
export { testSeed, testSigner } from '../keys.ts'
export { startTestNetwork } from './network.ts'
export type { NetworkGateway, RunningTestNetwork, TestNetworkOptions } from './network.ts'
