import type { Instant, JoinCertificate } from '@chancery/protocol'
import type { ClientCall } from '../../edge/call.ts'
import { FairThread, type ThreadCaller } from '../../threads/fair-thread.ts'
import type { BatchRequest, CheckResult, CertificateResult, RefusedResult, SingleRequest } from './batch-calls.ts'
import { throwIfRefused } from './batch-pool.ts'
import type { DevelopmentVerdict, CallerRequest } from './verify-development.ts'

/** Identifies the caller by its client. A request after its deadline is not read. */
export function callerOf(call: ClientCall): ThreadCaller {
  return { id: call.client.id, check: () => call.checkDeadline() }
}

/** Reads bodies that are too long for the event loop, in a thread that callers share round robin. */
export class BodyWorker {
  readonly #thread = new FairThread('./body-worker-thread', import.meta.url)

  /** Refuses a malformed batch, also when no batch could start now. */
  async checkBatch(request: BatchRequest, caller: ThreadCaller): Promise<void> {
    throwIfRefused(await this.#thread.call<CheckResult>(caller, 'checkBatch', request))
  }

  async readCertificate(request: SingleRequest, caller: ThreadCaller): Promise<JoinCertificate> {
    return throwIfRefused(await this.#thread.call<CertificateResult>(caller, 'readCertificate', request)).certificate
  }

  async verifyWithCallerTrust(
    request: CallerRequest & { readonly now: Instant },
    caller: ThreadCaller,
  ): Promise<DevelopmentVerdict> {
    return throwIfRefused(
      await this.#thread.call<DevelopmentVerdict | RefusedResult>(caller, 'verifyWithCallerTrust', request),
    )
  }

  async close(): Promise<void> {
    await this.#thread.close()
  }
}
