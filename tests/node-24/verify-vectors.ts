import { verifySignature } from '@chancery/protocol'
import { checkWeakKeys } from '../../packages/protocol/src/vectors/weak-keys.ts'
import { checkVerifyVectors } from '../../packages/sdk/src/verify/vectors.suite.ts'

const major = process.version.split('.')[0] ?? ''
const weakKeys = await checkWeakKeys((key, message, signature) => verifySignature(key, message, signature))
process.stdout.write(`${major} ${JSON.stringify({ ...(await checkVerifyVectors()), weakKeys })}\n`)
