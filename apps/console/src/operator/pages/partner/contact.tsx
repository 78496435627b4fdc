import type { Partner, TreatyRow } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { Facts } from '../../parts/facts.tsx'
import { Shape, State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { doHref } from '../../signing/review.tsx'
import { ALARM_WORDS, ATTENTION_WORDS, PULL_WORDS, READING_WORDS, wordOf } from '../../words/partners.ts'
import type { FeedRow } from '../partners/rows.ts'

/** Open alarms, and other reasons to check the partner. */
export function Alarms({ partner }: { readonly partner: Partner }): JSX.Element {
  const open = partner.alarms.filter((alarm) => alarm.cleared_at === null)
  return (
    <>
      {open.map(({ alarm_id, kind, material, sequence, raised_at }) => (
        <div class="banner bad" role="alert" key={alarm_id} data-alarm={kind}>
          <Shape shape="square" />
          <div>
            <b>{wordOf(ALARM_WORDS, kind)}.</b> {material}
            {sequence === null ? '' : `, sequence ${sequence}`}, <Time at={raised_at} />. <code class="id">{kind}</code>{' '}
            <a class="btn tiny" href={doHref(`clear-${alarm_id}`)}>
              Clear…
            </a>
          </div>
        </div>
      ))}
      {partner.reasons.map((reason) => (
        <div class="banner watch" key={reason}>
          <Shape shape="triangle" />
          <div>
            {wordOf(ATTENTION_WORDS, reason)} <code class="id">{reason}</code>
          </div>
        </div>
      ))}
    </>
  )
}

/** Its revocation feed: what is imported, and what is there. */
export function FeedPanel(props: {
  readonly id: string
  readonly feed: FeedRow | undefined
  readonly partner: Partner | undefined
}): JSX.Element {
  const { id, feed, partner } = props
  const there = partner?.feed ?? null
  return (
    <section class="panel">
      <header>
        <h2>Its revocation feed</h2>
        <div class="end">
          <a class="btn tiny" href={doHref('import')}>
            Import…
          </a>
        </div>
      </header>
      <div class="body">
        {feed === undefined ? (
          <div class="banner watch">
            <Shape shape="triangle" />
            <div>
              <b>Never imported.</b> Members that {id} withdrew would still be accepted here.
            </div>
          </div>
        ) : (
          <Facts
            of={[
              ['Sequence', feed.sequence],
              [
                'Imported',
                <span class={feed.freshness === 'fresh' ? '' : 'warn'}>
                  <Time at={feed.imported_at} both />
                </span>,
              ],
              ['Withdrawn', feed.revoked_count],
              ['Complete', feed.complete ? 'yes' : 'no, parts are missing'],
            ]}
          />
        )}
        {there === null ? null : (
          <p class="quiet small">
            There: sequence {there.sequence}, {there.ids} ids, signed <Time at={there.issued_at} />.
          </p>
        )}
      </div>
    </section>
  )
}

const TONES = { alarm: 'bad', stale: 'watch', watch: 'watch', new: 'ended', paused: 'ended', fresh: 'good' } as const
const SHAPES = {
  alarm: 'square',
  stale: 'triangle',
  watch: 'triangle',
  new: 'dashed',
  paused: 'dash',
  fresh: 'circle',
} as const

/** Where the authority reads the partner, and with which keys. */
export function Contact(props: {
  readonly id: string
  readonly partner: Partner | undefined
  readonly picked: TreatyRow | undefined
}): JSX.Element {
  const { partner, picked } = props
  return (
    <section class="panel">
      <header>
        <h2>Contact</h2>
        {partner === undefined ? null : (
          <div class="end">
            <a class="btn tiny" href={doHref('pull')}>
              Read now…
            </a>
          </div>
        )}
      </header>
      <div class="body">
        {partner === undefined ? (
          <p>
            The authority does not read {props.id}. <a href="/operator/partners?do=add">Add it as a partner</a>, with
            its address and its root key.
          </p>
        ) : (
          <Read partner={partner} picked={picked} />
        )}
      </div>
    </section>
  )
}

function Read({ partner, picked }: { readonly partner: Partner; readonly picked: TreatyRow | undefined }): JSX.Element {
  const { state, last_pull: last, crl, genesis } = partner
  const current = partner.authority_keys.filter((key) => key.current)
  const isNamed = current.some((key) => picked?.treaty.subject_public_keys.includes(key.public_key) === true)
  return (
    <>
      <Facts
        of={[
          ['State', <State shape={SHAPES[state]} tone={TONES[state]} word={wordOf(READING_WORDS, state)} />],
          ['Label', partner.label],
          ['Address', <span class="mono small">{partner.url.replace(/^https:\/\//, '')}</span>],
          [
            'Last pull',
            last === null ? (
              'none'
            ) : (
              <>
                <Time at={last.at} />: {wordOf(PULL_WORDS, last.outcome)} <code class="id">{last.outcome}</code>
              </>
            ),
          ],
          ['Next pull', partner.paused ? 'paused' : <Time at={partner.next_pull_at} />],
          [
            'Authority key',
            current.length === 0 || picked === undefined ? null : isNamed ? (
              <span class="ok">the one in the treaty</span>
            ) : (
              <span class="no">not in the treaty</span>
            ),
          ],
          ['Pinned', partner.pin.kind === 'root' ? 'its root key' : 'its authority keys'],
          ['Genesis ends', genesis === null ? null : <Time at={genesis.valid_to} />],
          [
            'Its list',
            crl === null ? null : (
              <>
                #{crl.sequence}, signed <Time at={crl.issued_at} />
              </>
            ),
          ],
          ['Its feed', partner.import_feeds === 'on' ? 'is imported' : 'is read, and not imported'],
        ]}
      />
      <p class="gap">
        <a class="btn tiny" href={doHref('repin')}>
          Pin other keys…
        </a>{' '}
        <a class="btn tiny danger" href={doHref('remove')}>
          Remove…
        </a>
      </p>
    </>
  )
}
