/** What needs files: import it as `@chancery/sdk/nodejs`. The rest of the library also runs in browsers. */
export { FileNodeStore } from './file-node-store.ts'
export { FileOutbox, InUseError } from './file-outbox.ts'
export { expressNodeProof, fastifyNodeProof, httpNodeProof } from './node-proof.ts'
export type { HttpRequestVerifierOptions, SignedMessage } from './node-proof.ts'
export { readGenesisFile, readSignerFile } from './files.ts'
export type * from '../record-types.ts'
