import { writeSortable } from '@chancery/protocol'
import type { Transaction } from '../../database/database.ts'
import { countOpenAlarms, deleteOldAlarms, insertAlarm, isAlarmOpen } from './queries/alarms.ts'
import { findText } from './queries/partners.ts'
import type { Core, FeatureBase } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { RecognitionTreaties } from '../recognition-treaties/index.ts'
import type { RevocationFeeds } from '../revocation-feeds/index.ts'
import type { MaterialChecks, RunsChecks } from './material-checks.ts'
import type { OfferedTreaty } from './check-treaties.ts'
import { PULL_OUTCOMES } from '../../metrics.ts'
import type { AcceptedKeys, Outcome, StoredFacts } from './stored-facts.ts'
import type { ReadFrom } from './read-document.ts'

export interface PartnersParts extends FeatureBase, Pick<Core, 'instance'> {
  readonly settings: Pick<
    AuthoritySettings,
    'partners' | 'partnersMax' | 'partnerAddresses' | 'partnerRoots' | 'publicUrl'
  >
  readonly recognitionTreaties: RecognitionTreaties
  readonly revocationFeeds: RevocationFeeds
}

export interface PartnersState extends PartnersParts {
  readonly checks: MaterialChecks
}

/** For one pull, whose checks end with it. */
export interface PullingParts extends PartnersParts {
  readonly checks: RunsChecks
}

export type AlarmKind = 'equivocation' | 'rollback' | 'sequence_jump' | 'key_history_changed' | 'import_capacity'
export type Material = 'feed' | 'crl' | 'treaty' | 'key_history'

export interface NewAlarm {
  readonly kind: AlarmKind
  readonly material: Material
  readonly sequence: number | null
  readonly held_digest: string | null
  /** Undefined: the stored text of the material. */
  readonly held_text?: string | null
  readonly offered_digest: string | null
  readonly offered_text: string | null
}

export interface OfferedTreaties {
  readonly treaties: readonly OfferedTreaty[]
  readonly refused: number
  readonly truncated: boolean
}

/** What a pull found. It is stored in one transaction. */
export interface Findings {
  facts: StoredFacts
  readonly outcomes: Outcome[]
  readonly changed: string[]
  readonly alarms: NewAlarm[]
  readonly texts: Map<'feed' | 'crl' | 'key_history', string | null>
  /** What was read, accepted or not. Null when it is too long to store. */
  readonly offered: Map<'feed' | 'crl', string | null>
  readonly sequences: Map<'feed' | 'crl', number>
  keyChanged: boolean
  treaties: OfferedTreaties | undefined
}

/** The most serious one. Without a failure it is `ok` when something is new. */
export function worstOf({ outcomes, changed }: Pick<Findings, 'outcomes' | 'changed'>): Outcome {
  const worst = outcomes.reduce<number>((most, outcome) => Math.max(most, PULL_OUTCOMES.indexOf(outcome)), 0)
  if (worst > PULL_OUTCOMES.indexOf('unchanged')) return PULL_OUTCOMES[worst] ?? 'store_failed'
  return changed.length > 0 ? 'ok' : 'unchanged'
}

/** As many as a partner shows. Of treaties not more are stored. */
export const SHOWN_ALARMS = 20

/** Raises alarms that are not open yet. Returns the number of open ones. */
export async function raiseAlarms(
  tx: Transaction,
  parts: PartnersState,
  sovereign_id: string,
  alarms: readonly NewAlarm[],
): Promise<number> {
  for (const alarm of alarms) {
    if (await isAlarmOpen(tx.query, sovereign_id, alarm)) continue
    const { kind, material, sequence } = alarm
    const alarm_id = parts.ids.uuid()
    await insertAlarm(tx, {
      ...alarm,
      alarm_id,
      sovereign_id,
      held_text: alarm.held_text === undefined ? await findText(tx.query, sovereign_id, material) : alarm.held_text,
      raised_at: writeSortable(parts.clock.now()),
      cleared_at: null,
    })
    await parts.audit.record(tx, {
      type: 'partner_alarm_raised',
      details: { sovereign_id, alarm_id, kind, material, sequence },
    })
    parts.log.error('a partner contradicts itself', { alarm: true, sovereign_id, alarm_id, kind, material })
  }
  await deleteOldAlarms(tx, sovereign_id, SHOWN_ALARMS)
  return countOpenAlarms(tx.query, sovereign_id)
}

/** A pull under way. */
export interface Pull {
  readonly parts: PullingParts
  readonly sovereign_id: string
  readonly isImporting: boolean
  /** The claim under which the pull runs. */
  readonly token: string
  readonly read: ReadFrom
  readonly keys: AcceptedKeys
  /** Highest sequences that were seen under this pin. */
  readonly seen: ReadonlyMap<string, number>
  readonly findings: Findings
  /** Feed parts may take longer. */
  allowParts(): void
}

export const SMALL_BYTES = 262_144

/** Of a feed, and of a list of certificates. */
export const LIST_BYTES = 16_777_216
