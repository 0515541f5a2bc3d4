"""tileiras_kernels: compile kernel files with tileiras_build.

    load("//:tileiras.bzl", "tileiras_kernels")

    tileiras_kernels(
        name = "kernels",
        srcs = ["scale.py"],
        sm = ["90", "100"],
    )

The command tileiras-build must be on the PATH that actions see (--action_env=PATH), or be named by `compiler`.
"""

def _kernels_impl(ctx):
    folders = []
    for source in ctx.files.srcs:
        folder = ctx.actions.declare_directory(ctx.label.name + "/" + source.basename.rpartition(".")[0])
        arguments = ["lower", source.path, "--to", ctx.attr.stage, "--sm", ",".join(ctx.attr.sm), "-o", folder.path + "/"]
        ctx.actions.run(
            executable = ctx.attr.compiler,
            arguments = arguments + ctx.attr.options,
            inputs = depset([source], transitive = [depset(ctx.files.data)]),
            outputs = [folder],
            mnemonic = "TileirasLower",
            progress_message = "Compiling kernels of " + source.basename,
            use_default_shell_env = True,
        )
        folders.append(folder)
    return [DefaultInfo(files = depset(folders), runfiles = ctx.runfiles(files = folders))]

tileiras_kernels = rule(
    implementation = _kernels_impl,
    doc = "One folder for each kernel file, with a cubin and a launch manifest for each kernel and target.",
    attrs = {
        "srcs": attr.label_list(allow_files = [".py", ".cu", ".tilebc"], mandatory = True, doc = "kernel files"),
        "data": attr.label_list(allow_files = True, doc = "modules and other files that the kernel files read"),
        "sm": attr.string_list(mandatory = True, doc = "targets, as of --sm"),
        "stage": attr.string(default = "cubin", doc = "the stage to lower to"),
        "options": attr.string_list(doc = "more options of tileiras-build lower, such as --lineinfo"),
        "compiler": attr.string(default = "tileiras-build", doc = "the command"),
    },
)
