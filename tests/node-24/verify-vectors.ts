import { checkVerifyVectors } from '../../packages/sdk/src/verify/vectors.suite.ts'

const major = process.version.split('.')[0] ?? ''
process.stdout.write(`${major} ${JSON.stringify(await checkVerifyVectors())}\n`)
