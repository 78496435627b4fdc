import type { RecognitionTreaty } from '@chancery/protocol'
import type { TreatyRow } from '@chancery/sdk/authority'
import type { ComponentChildren, JSX } from 'preact'
import { session } from '../../key.ts'
import { Facts, Roles } from '../../parts/facts.tsx'
import { Copy, Id, shortId } from '../../parts/id.tsx'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { treatyHref } from '../partners/links.ts'
import type { PartnerView } from './load.ts'

/** The own treaty: what it allows, and until when. */
export function OurSide({
  picked,
  view,
}: {
  readonly picked: TreatyRow | undefined
  readonly view: PartnerView
}): JSX.Element {
  if (picked === undefined)
    return (
      <Side title="We recognise them">
        <p class="quiet">No treaty with it was ever signed. Its members are refused.</p>
      </Side>
    )
  const { treaty, lifecycle } = picked
  const before = view.ours.find((row) => row.lifecycle.replacement_treaty_id === treaty.treaty_id)
  const next = lifecycle.replacement_treaty_id
  return (
    <Side title="We recognise them" isVerified={view.verified.has(treaty.treaty_id)}>
      <Facts
        of={[
          ...shared(treaty),
          ['Its keys', treaty.subject_public_keys.map((key) => <KeyText key={key} text={key} what="the key" />)],
          ['Since', <Time at={treaty.valid_from} both />],
          ['Ends', <Time at={treaty.expires_at} both />],
          ['Ended', lifecycle.revoked_at === null ? null : <Time at={lifecycle.revoked_at} both />],
          ['Reason', next === null ? lifecycle.revocation_reason : null],
          ['Risk', lifecycle.expiry_risk],
          ['Replaces', before === undefined ? null : <TreatyLink id={before.treaty.treaty_id} />],
          ['Replaced by', next === null ? null : <TreatyLink id={next} />],
        ]}
      />
      {view.ours.length > 1 ? (
        <p class="quiet small">
          <a href="/operator/partners?tab=treaties">All treaties</a>: {view.ours.length} with this network
        </p>
      ) : null}
    </Side>
  )
}

/** Their treaty about this network, as the partner reports it. It decides nothing here. */
export function TheirSide({ id, view }: { readonly id: string; readonly view: PartnerView }): JSX.Element {
  const { partner, theirs } = view
  const newest = theirs.toSorted((a, b) => a.treaty.expires_at.localeCompare(b.treaty.expires_at)).at(-1)
  if (newest === undefined)
    return (
      <Side title="They recognise us">
        <p class="quiet">
          {partner === undefined
            ? `The authority does not read ${id}. Add it as a partner to see its side.`
            : partner.treaties === null
              ? `The treaties of ${id} were not read yet.`
              : `${id} reports no treaty about this network. It refuses our members.`}
        </p>
      </Side>
    )
  const { treaty, as_of } = newest
  const ours = session.get()?.audience ?? ''
  return (
    <Side title="They recognise us" isVerified={view.verified.has(treaty.treaty_id)}>
      <Facts
        of={[
          ...shared(treaty),
          [
            'Our key',
            treaty.subject_public_keys.includes(ours) ? (
              <>
                <KeyText text={ours} what="our key" /> <State shape="tick" tone="good" word="ours" />
              </>
            ) : (
              <State shape="square" tone="bad" word="not our present key: our members are refused" />
            ),
          ],
          ['Since', <Time at={treaty.valid_from} both />],
          ['Ends', <Time at={treaty.expires_at} both />],
          ['Read', as_of === null ? null : <Time at={as_of} />],
        ]}
      />
    </Side>
  )
}

function shared(treaty: RecognitionTreaty): readonly (readonly [string, ComponentChildren])[] {
  const { scope } = treaty
  return [
    ['Treaty', <Id id={treaty.treaty_id} what="the treaty id" whole />],
    ['Roles', scope.allowed_roles.length === 0 ? 'none' : <Roles roles={scope.allowed_roles} />],
    ['Statuses', <Roles roles={scope.accepted_statuses} />],
  ]
}

function KeyText({ text, what }: { readonly text: string; readonly what: string }): JSX.Element {
  return (
    <span class="nowrap">
      <code class="mono small" title={text}>
        {shortId(text, 16)}
      </code>
      <Copy text={text} what={what} />
    </span>
  )
}

const TreatyLink = ({ id }: { readonly id: string }): JSX.Element => (
  <a class="mono" href={treatyHref(id)}>
    {shortId(id)}
  </a>
)

function Side(props: {
  readonly title: string
  readonly isVerified?: boolean
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <section class="panel">
      <header>
        <h2>{props.title}</h2>
        {props.isVerified === undefined ? null : (
          <div class="end">
            {props.isVerified ? (
              <State shape="tick" tone="good" word="verified here" />
            ) : (
              <State shape="triangle" tone="watch" word="not signed with the present key" />
            )}
          </div>
        )}
      </header>
      <div class="body">{props.children}</div>
    </section>
  )
}
