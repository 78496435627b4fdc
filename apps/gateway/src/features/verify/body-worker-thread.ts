import { serveCalls } from '@chancery/service-kit/threads'
import type { BatchRequest, CertificateResult, CheckResult, RefusedResult, SingleRequest } from './audited-decision.ts'
import { type CallerRequest, type DevelopmentVerdict, verifyWithCallerTrust } from './verify-development.ts'
import { readAllowedBatch, readAllowedSingle, catchRefusal, catchRefusalAsync } from './requests.ts'

serveCalls({
  checkBatch: (request: BatchRequest): CheckResult => catchRefusal(() => ({ count: readAllowedBatch(request).length })),
  readCertificate: (request: SingleRequest): CertificateResult =>
    catchRefusal(() => ({ certificate: readAllowedSingle(request) })),
  verifyWithCallerTrust: (request: CallerRequest): Promise<DevelopmentVerdict | RefusedResult> =>
    catchRefusalAsync(() => verifyWithCallerTrust(request)),
})
