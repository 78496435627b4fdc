/** What needs files: import it as `@chancery/sdk/node`. The rest of the library also runs in browsers. */
export { FileNodeStore } from './file-node-store.ts'
export { FileOutbox } from './file-outbox.ts'
export { InUseError } from './ownership.ts'
export { expressNodeProof, fastifyNodeProof, httpNodeProof } from './node-proof.ts'
export type { HttpGuardOptions, ProvenMessage } from './node-proof.ts'
export { readGenesisFile, readSignerFile } from './files.ts'
