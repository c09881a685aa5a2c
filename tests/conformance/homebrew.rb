# Follows a formula for Homebrew without Homebrew: checks the archive that it names for this system, unpacks it, and runs
# `install` with the methods that formulas call.
#
# Usage: ruby homebrew.rb FORMULA FOLDER-OF-THE-ARCHIVES PROCESSOR PREFIX
require "digest"
require "fileutils"
require "pathname"
require "tmpdir"

# A folder into which a formula installs.
class Pathname
  def install(*files)
    mkpath
    files.flatten.each do |file|
      pairs = file.is_a?(Hash) ? file : { file => File.basename(file) }
      pairs.each { |from, name| FileUtils.cp from, self / name }
    end
  end

  def install_symlink(links)
    links.each { |from, name| FileUtils.ln_s from, self / name }
  end
end

class Formula
  PROCESSOR = ARGV[2]
  PREFIX = Pathname.new(ARGV[3])

  class << self
    attr_reader :chosen, :formula

    def inherited(formula)
      super
      @formula = formula
    end

    %w[desc homepage version license].each { |field| define_method(field) { |value| fields[field] = value } }

    def fields
      @fields ||= {}
    end

    def on_macos; end

    def on_linux
      yield
    end

    %w[intel arm].each { |name| define_method("on_#{name}") { |&block| block.call if name == PROCESSOR } }

    def url(value)
      @chosen = { url: value }
    end

    def sha256(value)
      chosen[:sha256] = value
    end

    def test; end
  end

  {
    bin: "bin",
    man1: "share/man/man1",
    bash_completion: "share/bash-completion/completions",
    zsh_completion: "share/zsh/site-functions",
    fish_completion: "share/fish/vendor_completions.d",
    doc: "share/doc"
  }.each { |name, folder| define_method(name) { PREFIX / folder } }
end

load ARGV[0]
formula = Formula.formula
missing = %w[desc homepage version license] - formula.fields.keys
abort "the formula has no #{missing.join(', ')}" unless missing.empty?
# The limit of `brew audit`.
abort "desc is longer than 80 characters" if formula.fields["desc"].length > 80
archive = File.join(ARGV[1], File.basename(formula.chosen[:url]))
found = Digest::SHA256.file(archive).hexdigest
abort "#{archive}: the digest is #{found}, not #{formula.chosen[:sha256]}" unless found == formula.chosen[:sha256]
Dir.mktmpdir do |work|
  system("tar", "-xzf", archive, "-C", work, exception: true)
  # Homebrew enters the only folder of an archive.
  only, *others = Dir.children(work)
  abort "the archive has more than one folder" unless others.empty?
  Dir.chdir(File.join(work, only)) { formula.new.install }
end
