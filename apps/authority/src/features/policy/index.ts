export { signPolicyAgain } from './sign-again.ts'
export { servePolicy } from './current.ts'
