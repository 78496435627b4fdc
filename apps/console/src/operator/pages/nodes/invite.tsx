import { type GenesisBlock, sha256Hex } from '@chancery/protocol'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { plain } from '../../../components/plain.ts'
import { at, authorityNow, readPublic } from '../../client.ts'
import type { Dashboard } from '../../dashboard.ts'
import { Drawer } from '../../parts/drawer.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Copy } from '../../parts/id.tsx'
import { Shape } from '../../parts/state.tsx'
import { absolute } from '../../parts/time.tsx'
import { reloadAll, useLive } from '../../parts/use-live.ts'
import { genesisFingerprint } from '../../pin.ts'
import type { Act, Values } from '../../signing/act.ts'
import { offerFile } from '../../parts/file.ts'
import { withdrawNow } from './withdraw.ts'

const HOUR_MS = 3_600_000
const ANOTHER = '/operator/nodes?do=invite'

/** The authority names an invite by the first characters of the digest of its token. */
const fingerprintOf = (token: string): string => sha256Hex(token).slice(0, 16)

/** Invites one node. The token is shown once and is in the memory of the drawer only. */
export const inviteAct: Act = {
  name: 'invite',
  title: 'Invite a node',
  sentence: 'Makes a single-use token. One node can join with it.',
  button: 'Sign and invite',
  fields: [
    {
      name: 'label',
      label: 'Label',
      kind: 'text',
      isOptional: true,
      placeholder: 'Berlin 3',
      hint: 'A name for operators. It grants nothing and is in no signed record.',
    },
    {
      name: 'roles',
      label: 'Roles',
      kind: 'text',
      initial: 'role:client',
      isMono: true,
      hint: 'Separated by spaces. Roles do not change during the life of the node.',
    },
    { name: 'token_expiry_hours', label: 'Token valid for, hours', kind: 'number', initial: '24', hint: '1 to 720' },
    {
      name: 'max_validity_hours',
      label: 'Certificates valid for, hours',
      kind: 'number',
      initial: '168',
      hint: '1 to 8760',
    },
    {
      name: 'recipient_public_key',
      label: 'Only for this node key',
      kind: 'text',
      isOptional: true,
      isMono: true,
      placeholder: '44 characters of base64',
      hint: 'No other node can then use the token.',
    },
  ],
  requests: (values) => [{ target: at`/admin/invite`, body: toBody(values), isRepeatable: true }],
  effects: (values) => [
    {
      shape: 'tick',
      tone: 'good',
      text: `One node can join until ${absolute(authorityNow() + Number(values['token_expiry_hours']) * HOUR_MS)}`,
      more: `with ${rolesOf(values).join(' and ')}, and certificates of at most ${values['max_validity_hours'] ?? ''} hours.`,
    },
    {
      shape: 'dashed',
      tone: 'ended',
      text: 'The token is shown once',
      more: 'The authority stores its digest only. Until it is used you can withdraw it.',
    },
  ],
  done: ([answer], values) => ({
    toast: {
      text: `Invited ${values['label'] || 'a node'}.`,
      link: { href: ANOTHER, text: 'Invite another' },
      undo: { text: 'Withdraw it', run: () => void withdrawNow(fingerprintOf(plain(answer?.['token_id']))) },
    },
    view: (close) => (
      <HandOver
        token={plain(answer?.['token_id'])}
        expiresAt={plain(answer?.['expires_at'])}
        label={values['label'] ?? ''}
        close={close}
      />
    ),
  }),
  unknown: {
    text: 'An invite may exist; its token cannot be shown again.',
    href: '/operator/nodes?tab=invites',
    link: 'Open the invites',
  },
}

const rolesOf = (values: Values): readonly string[] => (values['roles'] ?? '').split(/[\s,]+/).filter(Boolean)

function toBody(values: Values): Readonly<Record<string, string | number | string[]>> {
  const roles = [...rolesOf(values)]
  if (roles.length === 0) throw new Error('Give at least one role, for example role:client.')
  const [label, key] = [(values['label'] ?? '').trim(), (values['recipient_public_key'] ?? '').trim()]
  if (key !== '' && !/^[A-Za-z0-9+/]{43}=$/.test(key)) throw new Error('A node key is 44 characters of base64.')
  return {
    roles,
    max_validity_hours: hours(values['max_validity_hours'], 8760, 'Certificates valid for'),
    token_expiry_hours: hours(values['token_expiry_hours'], 720, 'Token valid for'),
    ...(label === '' ? {} : { label }),
    ...(key === '' ? {} : { recipient_public_key: key }),
  }
}

function hours(text: string | undefined, most: number, name: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1 || value > most)
    throw new Error(`${name}: a whole number from 1 to ${most}.`)
  return value
}

interface HandOverProps {
  readonly token: string
  readonly expiresAt: string
  readonly label: string
  readonly close: () => void
}

function HandOver({ token, expiresAt, label, close }: HandOverProps): JSX.Element {
  const [genesis, setGenesis] = useState<GenesisBlock>()
  const [isSaved, setSaved] = useState(false)
  const [isAsking, setAsking] = useState(false)
  useEffect(() => {
    void readPublic<GenesisBlock>(at`/genesis`).then(setGenesis)
  }, [])
  const pin = genesis === undefined ? '' : ` --genesis ${genesisFingerprint(genesis)}`
  const command = `chancery join --home ./node --url ${location.origin}${pin} --token-file invite.token`
  const save = (): void => {
    offerFile(
      `${label || 'node'}.invite.json`,
      JSON.stringify({ token, url: location.origin, genesis, command }, null, 2),
    )
    setSaved(true)
  }
  const withdraw = (): void => {
    close()
    void withdrawNow(fingerprintOf(token))
  }
  const end = (): void => (isSaved || isAsking ? close() : setAsking(true))
  return (
    <Drawer
      title="Ready to hand over"
      sentence={`The token works once, until ${absolute(Date.parse(expiresAt))}.`}
      name="invited"
      onClose={end}
      foot={
        <div class="end">
          <button type="button" class="btn tall" onClick={withdraw}>
            Withdraw it
          </button>
          <button type="button" class="btn primary tall" onClick={end}>
            {isAsking ? 'Close without the token' : 'Done'}
          </button>
        </div>
      }
    >
      <div class="final">
        <Shape shape="triangle" />
        <div role="status">
          {isAsking
            ? 'You neither copied nor saved the token. It cannot be shown again.'
            : 'This is the only time the token is shown. Anyone with it can join.'}
        </div>
      </div>
      <HandOverParts {...{ token, command, label, save }} onCopy={() => setSaved(true)} />
      <Waiting />
    </Drawer>
  )
}

function HandOverParts(props: {
  readonly token: string
  readonly command: string
  readonly label: string
  readonly save: () => void
  readonly onCopy: () => void
}): JSX.Element {
  return (
    <>
      <section>
        <h3>The token</h3>
        <div class="cmd">
          <code data-token>{props.token}</code>
          <Copy text={props.token} what="the token" onCopy={props.onCopy} />
        </div>
      </section>
      <section>
        <h3>Run this on the node</h3>
        <div class="cmd">
          <code data-command>{props.command}</code>
          <Copy text={props.command} what="the command" />
        </div>
        <p class="quiet small">
          Write the token to invite.token first. The fingerprint pins this authority: a node that reaches another one
          refuses to join.
        </p>
      </section>
      <section>
        <h3>Or as one file</h3>
        <p>
          <button type="button" class="btn" onClick={props.save}>
            <Icon name="file" />
            {props.label || 'node'}.invite.json
          </button>{' '}
          <span class="quiet">token, address, genesis block, the command</span>
        </p>
      </section>
    </>
  )
}

/**
 * Compares the count of certificates. It cannot state which node joined, so it does not. The operator waits, so it does
 * not use the summary of the frame, which may be 10 seconds old.
 */
function Waiting(): JSX.Element {
  const summary = useLive('joined', (signal) => readPublic<Dashboard>(at`/dashboard.json`, signal), ['nodes'])
  const issued = summary.value?.certificates.issued
  const [before, setBefore] = useState<number>()
  useEffect(() => setBefore((first) => first ?? issued), [issued])
  const hasJoined = issued !== undefined && before !== undefined && issued > before
  useEffect(() => {
    if (hasJoined) reloadAll()
  }, [hasJoined])
  return (
    <section>
      <h3>Waiting for it to join</h3>
      <ul class="effect">
        <li>
          <Shape shape={hasJoined ? 'tick' : 'dashed'} tone={hasJoined ? 'good' : 'watch'} />
          <div role="status">
            {hasJoined ? 'A node has joined.' : 'No node has joined since.'}
            <p>You may close this.</p>
          </div>
        </li>
      </ul>
    </section>
  )
}
