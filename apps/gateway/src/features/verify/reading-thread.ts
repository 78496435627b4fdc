import { answerCalls } from '@chancery/service-kit'
import type { BatchRequest, Checked, ReadCertificate, Refused, SingleRequest } from './batch-calls.ts'
import { judgeBrought } from './judge-brought.ts'
import type { BroughtAnswer, BroughtRequest } from './judge-brought.ts'
import { readAllowedBatch, readAllowedSingle, refusedOr, refusedOrLater } from './requests.ts'

answerCalls({
  checkBatch: (request: BatchRequest): Checked => refusedOr(() => ({ count: readAllowedBatch(request).length })),
  readCertificate: (request: SingleRequest): ReadCertificate =>
    refusedOr(() => ({ certificate: readAllowedSingle(request) })),
  judgeBrought: (request: BroughtRequest): Promise<BroughtAnswer | Refused> =>
    refusedOrLater(() => judgeBrought(request)),
})
