import { createLog } from '@chancery/service-kit'
import { openConnectome } from '../features/connectome/index.ts'
import { openCrl } from '../features/crl/index.ts'
import { openRecognitionTreaties } from '../features/recognition-treaties/index.ts'
import { openRevocationFeeds } from '../features/revocation-feeds/index.ts'
import type { RecoveryParts } from '../recovery/parts.ts'
import { PublishedDocuments } from '../requests/published-documents.ts'
import type { AuthoritySettings } from '../settings/authority-settings.ts'
import { openCore } from '../startup/open-core.ts'

/** Runs a command of recovery with what it needs: the core, the revocation list and the feed. */
export async function withRecovery<Result>(
  settings: AuthoritySettings,
  work: (parts: RecoveryParts) => Promise<Result>,
): Promise<Result> {
  const log = createLog({ level: 'error', format: 'text' })
  const opened = await openCore(settings, { log, isRecovering: true })
  const parts = { ...opened.core, settings, publishedDocuments: new PublishedDocuments() }
  const connectome = openConnectome(parts)
  const crl = openCrl(parts)
  const recognitionTreaties = openRecognitionTreaties({ ...parts, connectome })
  const revocationFeeds = openRevocationFeeds({ ...parts, recognitionTreaties })
  try {
    return await work({ ...parts, crl, revocationFeeds })
  } finally {
    for (const feature of [revocationFeeds, recognitionTreaties, crl, connectome]) await feature.close()
    await opened.close()
  }
}
