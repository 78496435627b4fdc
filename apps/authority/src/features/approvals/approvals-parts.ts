import { type ApprovalRequest, approvalRequestForm, readJson, readReceived } from '@chancery/protocol'
import type { Core, FeatureBase } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Evidence } from '../evidence/index.ts'
import type { PresentedParts } from '../presented/index.ts'
import type { ApprovalRow } from './queries.ts'

/** What the files of this feature use. */
export interface ApprovalsParts
  extends
    FeatureBase,
    Omit<PresentedParts, 'settings'>,
    Pick<Core, 'instance' | 'limits' | 'nonces' | 'operators' | 'rollback'> {
  readonly settings: PresentedParts['settings'] &
    Pick<
      AuthoritySettings,
      | 'approvalDenyHoldSeconds'
      | 'approvalWebhookAddresses'
      | 'approvalWebhookRoots'
      | 'approvalWebhookUrl'
      | 'approvalsMaxPending'
      | 'approvalsMaxPendingPerAsker'
      | 'evidenceStore'
      | 'publicUrl'
    >
  readonly evidence: Evidence
}

/** The signed request of a row. */
export function requestOf({ request_json }: Pick<ApprovalRow, 'request_json'>): ApprovalRequest {
  return readReceived(approvalRequestForm, readJson(request_json)).record
}

export function titlesOf({ requirements }: Pick<ApprovalRequest, 'requirements'>): readonly string[] {
  return [...new Set(requirements.map(({ title }) => title))]
}
