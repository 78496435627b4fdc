import { isSea } from 'node:sea'
import { dirname, join } from 'node:path'
import { stringify } from 'yaml'
import type { Choices } from '../init/settings-files.ts'
import type { HomeFiles } from '../init/home.ts'

export interface ServiceInputs {
  readonly choices: Choices
  readonly files: HomeFiles
  /** User and group that own the folder. */
  readonly user: { readonly name: string; readonly uid: number; readonly gid: number }
}

export const UNIT_NAME = 'chancery-authority.service'

/** Returns the words that start this program again: the one file, or Node.js with the script. */
export function programWords(): readonly string[] {
  return isSea() ? [process.execPath] : [process.execPath, '--', process.argv[1] ?? '']
}

/** Returns a unit with the paths of this machine. deploy/systemd has one for an installation in /opt. */
export function unitText({ choices, files, user }: ServiceInputs, program = programWords()): string {
  const words = [...program, 'authority', 'start', '--env-file', files.settings]
  // These options hide folders. They stay off where the program or the network is in such a folder.
  const used = [choices.home, ...program.filter((word) => word.startsWith('/'))]
  const isBelow = (folders: readonly string[]): boolean =>
    used.some((path) => folders.some((folder) => path.startsWith(`${folder}/`)))
  return `[Unit]
Description=Chancery authority of ${choices.network}
After=network-online.target time-sync.target
Wants=network-online.target
# A start waits for PostgreSQL, and is repeated for as long as it takes: after a power cut the database may come late.
StartLimitIntervalSec=0

[Service]
Type=exec
User=${user.name}
ExecStart=${words.map((word) => unitWord(word.replaceAll('$', '$$$$'))).join(' ')}
WorkingDirectory=${unitPath(choices.home)}
Restart=on-failure
RestartSec=2
# Wrong settings: a restart does not help.
RestartPreventExitStatus=78
TimeoutStopSec=40
# The signing key is in memory. Core dumps and swap would write it to disk.
LimitCORE=0
MemorySwapMax=0
# For one process. With NA_WORKERS set 1G for each worker and for the supervisor.
MemoryMax=1G
TasksMax=256
LimitNOFILE=16384
NoNewPrivileges=yes
ProtectSystem=strict
ReadWritePaths=${unitWord(choices.home)}
ProtectHome=${isBelow(['/home', '/root', '/run/user']) ? 'no' : 'yes'}
PrivateTmp=${isBelow(['/tmp', '/var/tmp']) ? 'no' : 'yes'}
PrivateDevices=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectControlGroups=yes
RestrictNamespaces=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
LockPersonality=yes
CapabilityBoundingSet=
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
SystemCallErrorNumber=EPERM
UMask=0077

[Install]
WantedBy=multi-user.target
`
}

/** Quotes a word of a list. systemd replaces % everywhere, and $ only in ExecStart. */
function unitWord(word: string): string {
  const escaped = unitPath(word)
  return /^[A-Za-z0-9_./:=%$-]+$/.test(escaped)
    ? escaped
    : `"${escaped.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}

function unitPath(path: string): string {
  return path.replaceAll('%', '%%')
}

/** Returns a Compose file that mounts the folder under its own path, so that the settings fit. */
export function composeText({ choices, files, user }: ServiceInputs): string {
  const { home, host, port } = choices
  const address = host.includes(':') ? `[${host}]` : host
  const service = {
    image: '${CHANCERY_IMAGE:?name the image by digest}',
    user: `${user.uid}:${user.gid}`,
    command: ['authority', 'start', `--env-file=${composePath(files.settings)}`, '--host=0.0.0.0'],
    environment: { CHANCERY_PROBE_URL: `http://127.0.0.1:${port}/healthz` },
    volumes: [{ type: 'bind', source: composePath(home), target: composePath(home) }],
    ports: [`${address}:${port}:${port}`],
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
    tmpfs: ['/tmp:size=16m,mode=1777'],
    ulimits: { core: 0 },
    pids_limit: 256,
    mem_limit: '1g',
    restart: 'unless-stopped',
    stop_grace_period: '40s',
    logging: { driver: 'json-file', options: { 'max-size': '10m', 'max-file': '5' } },
  }
  const name = `chancery-${choices.network.toLowerCase().replaceAll(/[^a-z0-9_-]/g, '-')}`
  const head = `# The authority of ${choices.network}. Start it with: docker compose -f ${join(home, 'compose.yaml')} up -d\n`
  // Version 1.1 quotes texts such as 22:22, which older readers take for numbers.
  return `${head}${stringify({ name, services: { authority: service } }, { version: '1.1' })}`
}

/** Compose replaces $ in values. */
function composePath(path: string): string {
  return path.replaceAll('$', '$$$$')
}

export function serviceFile(files: HomeFiles, kind: 'systemd' | 'compose'): string {
  return join(dirname(files.settings), kind === 'systemd' ? UNIT_NAME : 'compose.yaml')
}
